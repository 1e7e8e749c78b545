/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANALYZE_IMPL_H
#define ANALYZE_ANALYZE_IMPL_H

#include "analyze/ana_aux.h"
#include "analyze/ana_defer.h"
#include "analyze/ana_filter.h"
#include "analyze/ana_losses.h"
#include "analyze/ana_places.h"
#include "analyze/ana_read.h"
#include "analyze/ana_resolve.h"
#include "analyze/ana_tracing.h"
#include "analyze/ana_windows.h"
#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_stack_info.h"
#include "who/who.h"
#include "who/who_own.h"

/* State of the pipeline that analyze.c runs; only this room includes it. */

struct analyze {
	struct ana_opts opts;
	struct perf_input input;
	struct perf_file *file;
	struct ana_reader reader;
	struct ana_defer defer;
	struct perf_stack_reader *infos; /* of stacks that stand in their samples; NULL: none */
	struct who *who;
	struct ana_places places;
	struct arena memory; /* texts: as long as the analysis */
	struct ana_filter_set filter;
	struct ana_cache cache;
	struct clew_perf_ns now; /* of what is resolved; none: unknown */
	struct budget_account account;
	struct map_u64 cgroups;  /* id -> path */
	struct map_u64 counters; /* event id -> last value read, for samples of whole groups */
	struct map_u64 unresolved_by_dso; /* dso id + 1, 0 = none -> count */
	struct {
		VEC(struct ana_unresolved);
	} unresolved;
	struct {
		VEC(struct dso *);
	} unchecked;
	struct ana_stacks *stacks; /* NULL: none was met yet */
	struct {
		VEC(uint64_t);
	} lbr; /* ana_lbr_words() */
	struct ana_losses losses;
	struct ana_aux aux;
	struct ana_tracing tracing;
	struct ana_windows windows;
	struct who_on on;      /* with wants_who */
	enum who_fact is_root; /* N, where the recording does not say it */
	struct ana_queue *queue;
	struct ana_summary summary;
};

/** Extend [@p first, @p last] to @p time. An unknown time changes nothing; unknown ends: empty. */
static inline void ana_note_time(struct clew_perf_ns *first, struct clew_perf_ns *last,
				 struct clew_perf_ns time)
{
	if (!clew_perf_ns_is_known(time))
		return;
	if (!clew_perf_ns_is_known(*first) || time.ns < first->ns)
		*first = time;
	if (!clew_perf_ns_is_known(*last) || time.ns > last->ns)
		*last = time;
}

#endif
