/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_THREADS_H
#define TRACE_PERF_TRACE_THREADS_H

#include "trace/perf/aux_protocol.h"

/* When and in which thread a unit's trace ran. */

/** What of an instant is known: it ran after @p from, and no later than @p to. */
struct trace_span {
	struct clew_perf_ns from, to;
	bool is_ticks;                 /* by the trace's own time, which is @p from */
	const struct aux_chunk *chunk; /* NULL: unknown */
};
struct trace_span trace_span_in(const struct perf_trace *p, uint32_t unit, struct clew_ticks ticks,
				struct clew_perf_ns bound, const struct aux_chunk *chunk);
struct trace_span trace_span_of(const struct perf_trace *p, uint32_t unit, struct clew_ticks ticks,
				struct clew_perf_ns bound);
/** The AUX record that ends at @p bound, and may hold some of the unit's trace. NULL: none. */
const struct aux_chunk *trace_chunk_of(const struct perf_trace *p, uint32_t unit,
				       struct clew_perf_ns bound);
/** The time to ask the history for. */
struct clew_perf_ns trace_span_time(const struct trace_span *s);
/** The number of the host's thread, as records have it. AUX_NONE: unknown. */
uint32_t trace_tid_of(const struct perf_trace *p, const struct who_answer *a);
bool trace_time_of(const struct perf_trace *p, uint32_t unit, struct clew_ticks ticks,
		   struct clew_perf_ns *ret);

#endif
