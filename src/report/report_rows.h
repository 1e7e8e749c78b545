/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_ROWS_H
#define REPORT_REPORT_ROWS_H

#include "report/report_pass.h"

/*
 * Rows of a table out of weighted call paths. A row stands for one (key, group): groups are what
 * frames are put together by, such as function, file or source line.
 */
struct report_value {
	uint64_t self;  /* period of samples with their own frame in the group */
	uint64_t total; /* period of samples with such a frame anywhere in their path, once each */
	uint64_t nr;    /* samples counted in self */
};

struct report_row {
	uint32_t key, group;
	uint32_t values; /* of the first event; the others follow */
	uint32_t depth;  /* callers above its outermost frame, at least */
	uint32_t graph;  /* index of its graph, REPORT_NONE: none was made */
};

/** How to group frames and order ties; arrays borrowed, one entry per frame, group or key. */
struct report_grouping {
	const uint32_t *group_of; /* by frame */
	const uint32_t *group_rank, *key_rank;
	uint32_t nr_groups;
};

struct report_rows {
	struct {
		VEC(struct report_row);
	} rows;
	struct {
		VEC(struct report_value);
	} values; /* rows times nr_events */
	uint32_t nr_events;
	size_t nr_weights;
	struct budget_account account; /* set before they are made */
};

/**
 * All rows of @p nr_events events, sorted: by total (@p by_total) or self of the first event, then
 * of the next, then callers above what they call, then by rank of key and group.
 * @p weights: one for each event, sorted. @p pass: ready. A sample of an empty path makes no row.
 * CLEW_NO_MEMORY. Rows that the budget has no room for are omitted. Cost: O(distinct paths x their
 * depth).
 */
enum clew_err report_rows_make(struct report_rows *r, struct report_pass *pass,
			       const struct report_weights *const *weights, uint32_t nr_events,
			       const struct report_grouping *g, bool by_total);
void report_rows_done(struct report_rows *r);

static inline const struct report_value *report_row_value(const struct report_rows *r,
							  const struct report_row *row,
							  uint32_t event)
{
	return &r->values.data[row->values + event];
}

#endif
