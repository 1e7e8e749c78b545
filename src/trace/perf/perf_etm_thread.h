/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_ETM_THREAD_H
#define TRACE_PERF_PERF_ETM_THREAD_H

#include "trace/perf/perf_etm_queue.h"

/* When and in which thread a unit's trace ran. */

struct perf_etm;

/** What of an instant is known: it ran after @p from, and no later than @p to. */
struct pe_span {
	uint64_t from, to;
	bool is_ticks;                /* by the trace's own time, which is @p from */
	const struct pe_chunk *chunk; /* NULL: not known */
};
struct pe_span pe_span_of(const struct perf_etm *p, uint32_t unit, uint64_t ticks, uint64_t bound);
uint64_t pe_span_time(const struct pe_span *s);
/** PE_NONE: unknown. */
uint32_t pe_tid_of(const struct perf_etm *p, uint32_t unit, const struct pe_span *s, bool has_cid,
		   uint32_t cid, bool has_vmid, uint32_t vmid);
bool pe_time(const struct perf_etm *p, uint32_t unit, uint64_t ticks, uint64_t *ret_ns);

#endif
