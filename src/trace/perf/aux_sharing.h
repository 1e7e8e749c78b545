/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_SHARING_H
#define TRACE_PERF_AUX_SHARING_H

#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

struct perf_trace;

/**
 * Which rings hold trace of one unit, transitively: their chunks have to keep their order, others
 * may be streams of their own. A pass over the trace.
 * *ret_nr: number of streams; 1, also where there were more than @p max: nothing else is set.
 * @p stream_of: of each ring; @p of_unit: of each unit.
 */
enum clew_err aux_sharing_find(struct perf_trace *p, size_t max, uint32_t *stream_of,
			       uint32_t *of_unit, size_t *ret_nr);

#endif
