/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_BRANCH_WALK_H
#define PROFILE_BRANCH_WALK_H

#include "analyze/analyze.h"

/*
 * A branch stack, oldest entry first: which entries are branches, and what ran between them.
 *
 * At each level execution is straight from where a branch went to the next branch. The kernel
 * interrupts a user's run, has its own between, and returns: where that is the place that was left,
 * the run continues; elsewhere (a signal handler) another begins. No branch is: what leads from
 * one level to another, what an exception interrupts, the abort of a transaction, a wrong path, a
 * branch that was not taken, and what the code has no branch for; after the last, where execution
 * was is unknown.
 */

/** Of a run. */
struct branch_run {
	const struct ana_loc *from, *to; /* its first and last instruction */
	uint64_t cycles;                 /* that it took; 0: unknown */
	bool is_entered;                 /* from another function, or its beginning is unknown */
};

struct branch_walk_sink {
	/** to: NULL: unknown. @return false: stop. */
	bool (*branch)(void *ctx, const struct ana_loc *from, const struct ana_loc *to,
		       bool is_mispredicted);
	bool (*run)(void *ctx, const struct branch_run *r); /* NULL: not wanted */
	void *ctx;
};

/**
 * Of @p e, which has branches. @p nr_not_branches: sources where the code has no branch are added.
 * @return false: the sink stopped.
 */
bool branch_walk(const struct ana_event *e, const struct branch_walk_sink *sink,
		 uint64_t *nr_not_branches);

/** Is entry @p i of @p e, which has branches, one of those that branch_walk() adds there? */
bool branch_is_none(const struct ana_event *e, uint64_t i);

#endif
