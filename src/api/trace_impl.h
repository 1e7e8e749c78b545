/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_TRACE_IMPL_H
#define API_TRACE_IMPL_H

#include <clew/trace.h>

#include "analyze/analyze.h"
#include "base/budget.h"
#include "base/vec.h"
#include "os/file.h"
#include "trace/trace_decode.h"

enum { NR_TABLES = 8 }; /* of each unit: more than threads decode it */

/** The blocks of one epoch, as ranges. */
struct trace_ranges {
	VEC(struct clew_trace_range);
	uint32_t epoch;
	bool is_used;
};

/** What is known of a unit at this point of its stream. */
struct trace_state {
	struct code_key key;
	struct clew_trace_context context;
	struct clew_arm_context arm; /* of context, as its arch says */
	struct clew_x86_context x86;
	bool has_context;
	struct trace_ranges tables[NR_TABLES];
	size_t table, oldest; /* the one in use; the next to be replaced */
};

struct clew_trace {
	struct os_map map; /* data NULL: a snapshot or a stream */
	int fd;
	struct perf_input input;
	struct dso_store_opts symbols;
	struct budget budget;
	struct clew_left_out left_out;
	bool is_snapshot;
	struct trace_input *trace;
	struct clew_trace_unit *units;
	struct trace_state *states;
	struct clew_frame frame; /* of the last clew_trace_resolve() */
	/* During clew_trace_run(). */
	enum clew_err (*take)(void *ctx, const struct clew_trace_batch *b);
	void *ctx;
	struct clew_trace_run_opts run;
	struct {
		VEC(struct clew_trace_event);
	} events;
	struct {
		VEC(struct clew_trace_range);
	} partial;
};

/** For trace_decode_opts.batch; @p ctx is a struct clew_trace. */
enum clew_err trace_take_batch(void *ctx, size_t unit, const struct flow_batch *b);
void trace_state_done(struct trace_state *s);

#endif
