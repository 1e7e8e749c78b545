/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_CODE_OUTCOMES_H
#define REPORT_CODE_OUTCOMES_H

#include "report/code_levels.h"

/**
 * How often conditional branches ran. Where runs were counted from branch to branch, that is what
 * goes through them. Where each run was sampled by its last instruction (CODE_SAMPLED), a branch
 * inside of it was met by a sample of a later one, too, and one that was taken was not: there, only
 * samples of the branch itself count. Zeroed struct = empty.
 */
struct code_outcomes {
	const struct code_counts *counts; /* borrowed, sorted */
	struct code_levels levels;
	struct {
		VEC(struct code_level);
	} passed; /* of sampled runs, in order of address: not taken */
};

/** @return false when memory is short. */
bool code_outcomes_make(struct code_outcomes *o, const struct code_counts *c);
void code_outcomes_done(struct code_outcomes *o);

/** How often the branch at @p address ran. *ret_taken: and was taken. */
uint64_t code_outcomes_at(const struct code_outcomes *o, uint64_t address, uint64_t *ret_taken);

#endif
