/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/pb_put.h"

enum { PB_VARINT = 0, PB_LEN = 2, MAX_VARINT = 10 };

void pb_varint(struct buf *out, uint64_t v)
{
	if (!buf_reserve(out, MAX_VARINT))
		return;
	for (; v > 127; v >>= 7)
		out->data[out->nr++] = (char)(v & 127) | (char)128;
	out->data[out->nr++] = (char)v;
}

void pb_num0(struct buf *out, uint32_t field, uint64_t v)
{
	pb_varint(out, (uint64_t)field << 3 | PB_VARINT);
	pb_varint(out, v);
}

void pb_num(struct buf *out, uint32_t field, uint64_t v)
{
	if (v)
		pb_num0(out, field, v);
}

void pb_data(struct buf *out, uint32_t field, const void *data, size_t size)
{
	pb_varint(out, (uint64_t)field << 3 | PB_LEN);
	pb_varint(out, size);
	buf_add(out, data, size);
}

void pb_text(struct buf *out, uint32_t field, const char *s)
{
	pb_data(out, field, s, strlen(s));
}

void pb_move(struct buf *out, uint32_t field, struct buf *b)
{
	pb_data(out, field, b->data, b->nr);
	out->is_failed |= b->is_failed;
	buf_clear(b);
}
