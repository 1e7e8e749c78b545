/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_features.h"

bool perf_features_read_string(struct bytes *b, bool swap, const char **ret)
{
	struct bytes at = *b, text;
	uint32_t size;

	if (!bytes_u32(&at, swap, &size) || !bytes_take(&at, size, &text) ||
	    !memchr(text.pos, 0, size))
		return false;
	*ret = (const char *)text.pos;
	*b = at;
	return true;
}
