/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_COUNTED_TRACE_H
#define PROFILE_COUNTED_TRACE_H

#include "profile/counted_code.h"
#include "trace/trace_decode.h"

/** Of all units together; nr_units: that were decoded. */
struct counted_trace_totals {
	struct flow_totals sum;
	uint64_t nr_units;
	uint64_t nr_ops, nr_branches; /* sampled operations, and branches among them */
};

struct counted_trace_opts {
	unsigned int nr_threads; /* as trace_decode_opts */
	size_t max_cache_bytes;
	struct trace_listener listener;
};

/**
 * Decode @p t, count straight runs and branches into @p ret, and finish it. A run ends at a branch
 * that is not taken, too. Of sampled operations (SPE) retired branches count: each that was taken,
 * and, where the record has the target of the branch before it, the run from there; of a binary
 * without runs, the addresses of its branches as samples. @p t must outlive @p ret.
 * @return as trace_decode(); CLEW_NO_MEMORY.
 */
enum clew_err counted_trace(struct counted_code *ret, struct trace_input *t,
			    const struct counted_trace_opts *opts,
			    struct counted_trace_totals *totals, struct clew_diag *diag);

#endif
