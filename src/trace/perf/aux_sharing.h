/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_SHARING_H
#define TRACE_PERF_AUX_SHARING_H

#include "trace/trace_input.h"

/** trace_input_ops.streams_new: a stream groups rings that share a trace unit, transitively, as
 * their chunks have to keep their order. A pass over the trace finds which do. */
struct trace_steps *aux_sharing_streams(struct trace_input *t, const struct trace_sink *sink);

#endif
