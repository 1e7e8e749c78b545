/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DWARF_FUNCS_H
#define ELF_DWARF_FUNCS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum { DWARF_NO_FUNC = UINT32_MAX };

/** A function, or one inlined copy of one. */
struct dwarf_func {
	Dwarf_Off die;   /* offset in .debug_info */
	uint32_t caller; /* the function it is inlined into; DWARF_NO_FUNC: none */
	bool is_inlined;
};

/** Code addresses and the innermost function there. */
struct dwarf_func_range {
	uint64_t start, end;
	uint32_t func;
};

/** All functions with code of one compile unit. Zeroed struct = empty. */
struct dwarf_funcs {
	struct {
		VEC(struct dwarf_func);
	} funcs;
	struct {
		VEC(struct dwarf_func_range);
	} ranges; /* disjoint, sorted */
};

/** Read them. @return false when memory is short. Depth and number are limited, and so are the
 * bytes that are needed at once. */
bool dwarf_funcs_read(struct dwarf_funcs *f, Dwarf_Die *unit, uint64_t max_bytes);
void dwarf_funcs_done(struct dwarf_funcs *f);

/** Index of the innermost function at @p addr; DWARF_NO_FUNC: none. */
uint32_t dwarf_funcs_find(const struct dwarf_funcs *f, uint64_t addr);

#endif
