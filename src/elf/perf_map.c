/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/perf_map.h"

#include <elf.h>

enum { NAME_MIN = 3 };

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(struct bytes *b, uint64_t *ret)
{
	uint64_t v = 0;
	int n = 0, d;

	if (bytes_left(b) > 2 && b->pos[0] == '0' && (b->pos[1] | 0x20) == 'x')
		b->pos += 2;
	for (; bytes_left(b) && (d = hex_digit(*b->pos)) >= 0; b->pos++, n++)
		v = v << 4 | (uint64_t)d;
	*ret = v;
	return n > 0 && n <= 16 && bytes_skip(b, 1);
}

enum clew_err perf_map_collect(struct sym_table *t, struct bytes text)
{
	while (bytes_left(&text)) {
		const uint8_t *nl = memchr(text.pos, '\n', bytes_left(&text));
		struct bytes line = {text.pos, nl ? nl : text.end};
		struct sym s = {.is_own = 1, .type = STT_FUNC};
		uint64_t size;

		text.pos = nl ? nl + 1 : text.end;
		if (!nl)
			line.end--; /* so perf reads a line that is still being written */
		if (!take_hex(&line, &s.start) || !take_hex(&line, &size) ||
		    bytes_left(&line) < NAME_MIN)
			continue;
		s.end = s.start + size;
		s.name = sym_table_own_name(t, (const char *)line.pos, bytes_left(&line));
		if (s.name == UINT32_MAX || !sym_table_add(t, &s, STB_GLOBAL))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}
