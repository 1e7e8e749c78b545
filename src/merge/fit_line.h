/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_FIT_LINE_H
#define MERGE_FIT_LINE_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * The straight line between two clouds of points: of one-way delays, as clocks of two machines are
 * compared. Each point bounds the offset d at a guest time: d >= bound of a lower, d <= bound of
 * an upper one.
 */
struct fit_bound {
	int64_t at;    /* guest time */
	int64_t bound; /* host - guest */
};

struct fit_bounds {
	VEC(struct fit_bound); /* sorted by at */
};

struct fit_line {
	int64_t at;     /* guest time */
	int64_t offset; /* host - guest there, in the middle of the band */
	double slope;   /* growth of the offset in one unit of guest time */
	int64_t width;  /* between the upper and the lower bounds along the line; < 0: they
			   contradict each other */
};

/** What every line that no bound contradicts says at one time. */
struct fit_band {
	int64_t low, high;
};

/** The offset of the line at guest time @p t. */
static inline int64_t fit_line_at(const struct fit_line *l, int64_t t)
{
	return l->offset + (int64_t)(l->slope * (double)(t - l->at));
}

/**
 * The line that leaves most room between both sides, the slope in [-max_slope, max_slope]; 0: it
 * is fixed. @p low and @p high are reordered, and end as those bounds that were counted: the
 * tightest hundredth of each side is dropped, as records that were lost make false bounds.
 * @p bands: at guest times @p from and @p to. @return false: out of memory.
 */
bool fit_line(struct fit_bounds *low, struct fit_bounds *high, double max_slope, int64_t from,
	      int64_t to, struct fit_line *ret, struct fit_band bands[2]);

#endif
