/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MAKE_DWARF_BUILD_H
#define MAKE_DWARF_BUILD_H

#include "make/elf_build.h"

/**
 * What the debug information says: one unit of code [low, low + size), in it the function "outer",
 * in that @p depth inlined calls of "callee", each one byte in from the end of the one around it,
 * called from line 100 + level. Lines: row i of .debug_line is line i + 1 at low + 16 * i.
 */
struct dwarf_shape {
	uint64_t low, size;
	uint32_t depth;
	bool is_cyclic;  /* the callee's origin is itself */
	uint64_t shared; /* bytes at the end that are of a second unit, with the same table */
};

/** Add .debug_abbrev, .debug_info and .debug_line (DWARF 4). */
void dwarf_build(struct elf_build *b, const struct dwarf_shape *shape);

#endif
