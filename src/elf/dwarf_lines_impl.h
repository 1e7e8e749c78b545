/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DWARF_LINES_IMPL_H
#define ELF_DWARF_LINES_IMPL_H

#include <elfutils/libdw.h>

#include "base/arena.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "elf/dwarf_funcs.h"
#include "elf/dwarf_lines.h"

struct dwarf_unit {
	Dwarf_Die die;
	const char *dir; /* of the compiler run */
	bool is_read, has_lines;
	bool is_llvm; /* its discriminators are packed as LLVM's */
	struct dwarf_funcs funcs;
};

struct dwarf_unit_range {
	uint64_t start, end;
	uint32_t unit;
};

struct dwarf_lines {
	Dwarf *dw, *alt;
	struct {
		VEC(struct dwarf_unit);
	} units;
	struct {
		VEC(struct dwarf_unit_range);
	} ranges; /* sorted by start */
	struct arena text;
	struct bytes line_section;
	uint64_t longest_line_str; /* text in .debug_line_str */
	struct map_u64 tables;     /* offset of a line table -> 1: it may be read, 0: not */
	struct budget *budget;     /* of the file; NULL: no limit */
	const char *name;
	uint64_t charged;
	bool is_swapped;
	struct map_u64 full_paths; /* relative path's address -> with its directory */
};

/** Lines and functions of the unit, once. */
void dwarf_unit_read(struct dwarf_lines *l, struct dwarf_unit *u);

/**
 * The unit of the code at @p addr, not read: the one with the last range that starts at or before
 * it and covers it. *ret_end: up to where that holds, so that no code is of two units. NULL: none.
 */
struct dwarf_unit *dwarf_unit_at(struct dwarf_lines *l, uint64_t addr, uint64_t *ret_end);

/** Where the unit's line table is. @return false: it has none. */
bool dwarf_unit_table(struct dwarf_unit *u, uint64_t *ret_offset);

/** The line table at @p offset, after its length; empty: none there, as for libdw. */
struct bytes dwarf_table_at(const struct dwarf_lines *l, uint64_t offset, bool *ret_is_64);

/** libdw leaves relative paths of DWARF 5 as they are. */
const char *dwarf_full_path(struct dwarf_lines *l, struct dwarf_unit *u, const char *path);

/** What is known of a function by its DIE: name and declaration; of an inlined one also the call.
 */
void dwarf_describe(struct dwarf_lines *l, struct dwarf_unit *u, Dwarf_Die *die,
		    struct dwarf_line *ret);
void dwarf_describe_call(struct dwarf_lines *l, struct dwarf_unit *u, Dwarf_Die *die,
			 struct dwarf_line *ret);

#endif
