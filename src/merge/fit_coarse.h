/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_FIT_COARSE_H
#define MERGE_FIT_COARSE_H

#include "merge/fit_edges.h"

/** The lanes of both sides that have the same vcpu. */
struct fit_pair {
	const struct fit_host_lane *host;
	const struct fit_guest_lane *guest;
};

struct fit_pairs {
	VEC(struct fit_pair);
};

/** What is compared of a guest's lane: events, with the host's stays; or edges. */
static inline const struct fit_times *fit_times_of(const struct fit_guest_lane *g, bool is_by_stays)
{
	return is_by_stays ? &g->events : &g->idle_outs;
}

/** Of the lane with most of them in [from, to). NULL: there are none. */
const struct fit_times *fit_longest(const struct fit_pairs *pairs, bool is_by_stays, int64_t from,
				    int64_t to);

/** The offset that most differences of wake-ups of both sides agree on. */
struct fit_peak {
	int64_t from, to; /* guest times that were looked at */
	int64_t offset;
	uint32_t score;     /* differences in its bin */
	uint32_t runner_up; /* in the best bin that is not beside it */
};

/**
 * Over guest times in [from, to): runs of consecutive edges at several places, the best of which
 * counts. @p slope: what the offset grows by in one unit of guest time. @p width: of a bin, >= 2.
 * Cost: O(edges of a run * edges of the host). @return CLEW_NO_MEMORY; score 0: no edges.
 */
enum clew_err fit_coarse(const struct fit_pairs *pairs, int64_t from, int64_t to, double slope,
			 int64_t width, struct fit_peak *ret);

#endif
