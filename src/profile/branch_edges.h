/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_BRANCH_EDGES_H
#define PROFILE_BRANCH_EDGES_H

#include "profile/branch_source.h"
#include "profile/counted_code.h"

/*
 * Runs and branches out of the branch stacks of samples (LBR, BRBE): each entry is a branch, and
 * between where one went and where the next one is, all ran (profile/branch_walk.h), if the stacks
 * have all branches (profile/branch_filter.h); else there are branches alone.
 */

struct branch_edges_opts {
	const char *event;  /* only this one; NULL: all */
	bool has_one_event; /* without that, only the first that has samples */
};

struct branch_edges_event {
	const struct perf_evsel *evsel;
	uint64_t nr; /* samples */
	bool is_omitted;
	bool has_all; /* its stacks have all branches: there are runs */
};

/** Zeroed struct = nothing yet. */
struct branch_edges_totals {
	uint64_t nr_samples, nr_stacks, nr_branches; /* of events that are not omitted */
	uint64_t nr_not_branches; /* entries of which the code has no branch there: not counted */
	uint64_t nr_bad_runs; /* that would go backwards, through a branch that is always taken, or
				 are longer than 1 MiB */
	uint64_t nr_filtered; /* stacks that have not all branches */
	struct {
		VEC(struct branch_edges_event);
	} events; /* in the order of their first samples */
};
void branch_edges_totals_done(struct branch_edges_totals *t);

/** Has any event of the recording branch stacks? */
bool branch_edges_has_stacks(struct analyze *a);

/** How an analysis is to be opened for this. @p sources: outlives it; NULL: any source is believed
 * to be a branch. */
void branch_edges_wish(struct ana_opts *opts, struct branch_sources *sources);

/** Run @p a, and finish @p ret; @p a must outlive it. Sampled addresses are counted, too. @p opts:
 * NULL: all events. @return as analyze_run(). */
enum clew_err branch_edges(struct counted_code *ret, struct analyze *a,
			   const struct branch_edges_opts *opts, struct branch_edges_totals *totals,
			   struct clew_diag *diag);

#endif
