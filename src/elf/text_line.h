/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_TEXT_LINE_H
#define ELF_TEXT_LINE_H

#include "base/bytes.h"

/** Everything up to the newline, which is stepped over. */
static inline struct bytes text_take_line(struct bytes *b)
{
	const uint8_t *nl = bytes_left(b) ? memchr(b->pos, '\n', bytes_left(b)) : NULL;
	struct bytes line = {b->pos, nl ? nl : b->end};

	b->pos = nl ? nl + 1 : b->end;
	return line;
}

static inline int text_hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/** Step over hex digits; false: none, or more than 16. */
static inline bool text_take_hex(struct bytes *b, uint64_t *ret)
{
	uint64_t v = 0;
	int n = 0, d;

	for (; bytes_left(b) && (d = text_hex_digit(*b->pos)) >= 0; b->pos++, n++)
		v = v << 4 | (uint64_t)d;
	*ret = v;
	return n > 0 && n <= 16;
}

#endif
