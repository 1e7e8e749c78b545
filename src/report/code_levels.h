/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_CODE_LEVELS_H
#define REPORT_CODE_LEVELS_H

#include "report/code_counts.h"

/** How often the instructions from an address on were gone through, up to the next level's. */
struct code_level {
	uint64_t at, nr;
};

/** In order of address; before the first, nothing ran. Zeroed struct = empty. */
struct code_levels {
	VEC(struct code_level);
};

/**
 * What runs through each instruction. Meaningful at addresses of instructions: elsewhere it is no
 * more than at the one before. @return false when memory is short.
 */
bool code_levels_make(struct code_levels *l, const struct code_table *runs);
void code_levels_done(struct code_levels *l);

/** Number of the first level after @p address. */
size_t code_levels_after(const struct code_levels *l, uint64_t address);

uint64_t code_levels_at(const struct code_levels *l, uint64_t address);

/** The most of any instruction in [@p start, @p end). */
uint64_t code_levels_most(const struct code_levels *l, uint64_t start, uint64_t end);

#endif
