/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_ETM_RUN_H
#define TRACE_PERF_PERF_ETM_RUN_H

#include "trace/etm_trace.h"

/* The bytes of each unit: etm_trace_ops.run and steps. */

enum clew_err pe_run(struct etm_trace *t, const struct etm_sink *sink, struct clew_diag *diag);
/** A lane is a row of rings that hold trace of one unit, directly or by others of the row. */
struct etm_steps *pe_steps_new(struct etm_trace *t, const struct etm_sink *sink);
size_t pe_steps_lanes(const struct etm_steps *s);
enum clew_err pe_step(struct etm_steps *s, size_t lane);
void pe_steps_free(struct etm_steps *s);

#endif
