/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/collapsed_put.h"

void collapsed_end_frame(struct buf *out, size_t from)
{
	for (size_t i = from; i < out->nr; i++) {
		if (out->data[i] == ';')
			out->data[i] = ':';
	}
}

void collapsed_end_line(struct buf *out, uint64_t weight)
{
	buf_char(out, ' ');
	buf_dec(out, weight, 0, ' ');
	buf_char(out, '\n');
}
