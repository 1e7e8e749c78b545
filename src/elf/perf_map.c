/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/perf_map.h"

#include <elf.h>

#include "elf/text_line.h"

/** Hex with or without 0x, and the blank after it. */
static bool take_number(struct bytes *b, uint64_t *ret)
{
	if (bytes_left(b) > 2 && b->pos[0] == '0' && (b->pos[1] | 0x20) == 'x')
		b->pos += 2;
	return text_take_hex(b, ret) && bytes_skip(b, 1);
}

enum clew_err perf_map_collect(struct sym_table *t, struct bytes text)
{
	while (bytes_left(&text)) {
		struct bytes line = text_take_line(&text);
		struct sym s = {.is_own = 1, .type = STT_FUNC};
		uint64_t size;

		if (!take_number(&line, &s.start) || !take_number(&line, &size) ||
		    !bytes_left(&line))
			continue;
		s.end = s.start + size;
		s.name = sym_table_own_name(t, (const char *)line.pos, bytes_left(&line));
		if (s.name == SYM_NO_NAME || !sym_table_add(t, &s, STB_GLOBAL))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}
