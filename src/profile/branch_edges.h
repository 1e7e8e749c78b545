/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_BRANCH_EDGES_H
#define PROFILE_BRANCH_EDGES_H

#include "profile/counted_code.h"

/*
 * Runs and branches out of the branch stacks of samples (LBR, BRBE): each entry is a branch, and
 * between where one went and where the next one is, all ran. That is how AutoFDO and BOLT read
 * them.
 */

struct branch_edges_totals {
	uint64_t nr_samples, nr_stacks, nr_branches;
	uint64_t nr_bad_runs; /* that would go backwards, or are longer than 1 MiB */
};

/** How an analysis is to be opened for this. */
void branch_edges_wish(struct ana_opts *opts);

/** Run @p a, and finish @p ret; @p a must outlive it. @return as analyze_run(). */
enum clew_err branch_edges(struct counted_code *ret, struct analyze *a,
			   struct branch_edges_totals *totals, struct clew_diag *diag);

#endif
