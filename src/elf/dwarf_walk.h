/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DWARF_WALK_H
#define ELF_DWARF_WALK_H

#include "elf/dwarf_lines.h"

/* All that debug information says of a file's source, unit by unit. */

/** Code of one line, [start, end), of one row of a line table. */
struct dwarf_row {
	uint64_t start, end;
	const char *file; /* directory included */
	uint32_t line;
};

/** A function with code, or a copy of one that was inlined. */
struct dwarf_entry {
	uint64_t address;           /* of its first instruction */
	struct dwarf_line function; /* name and declaration */
	struct dwarf_line call;     /* function.is_inlined: where; file NULL: unknown */
};

/** Each returns false to end the walk. Texts live as long as the struct dwarf_lines. */
struct dwarf_walker {
	bool (*row)(void *ctx, const struct dwarf_row *row);
	bool (*entry)(void *ctx, const struct dwarf_entry *entry);
	void *ctx;
};

/** Only of code that is in a unit's range: what the linker threw away is not. @return false: it was
 * ended. */
bool dwarf_lines_walk(struct dwarf_lines *l, const struct dwarf_walker *w);

/** The newest version of any line table; 0: there is none. */
unsigned int dwarf_lines_version(struct dwarf_lines *l);

#endif
