/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_TRACE_IMPL_H
#define API_TRACE_IMPL_H

#include <clew/trace.h>

#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/vec.h"
#include "os/file.h"
#include "trace/trace_decode.h"
#include "who/who_ran.h"

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
	struct who_answer answer; /* context has it, in words, where that has who */
	struct buf who;           /* texts of context */
	bool has_context;
	struct trace_ranges tables[NR_TABLES];
	size_t table, oldest; /* the one in use; the next to be replaced */
};

/** A batch that was decoded and not yet asked for. */
struct trace_waiting {
	struct clew_trace_batch batch; /* ranges NULL: the unit's, of the batch's epoch */
	struct clew_trace_context context;
	struct clew_arm_context arm; /* of context */
	struct clew_x86_context x86;
	bool is_end; /* of the unit, in place of a batch */
};

enum trace_pass {
	TRACE_NEW,
	TRACE_PULLING, /* by clew_trace_next() */
	TRACE_OVER,    /* it has come to the end */
	TRACE_OTHER,   /* all was decoded by clew_trace_run() */
};

/** A pass by clew_trace_next(). */
struct trace_pull {
	enum trace_pass pass;
	struct trace_decoding *decoding;
	enum clew_err end; /* of the decoding, after those that wait: CLEW_END or a failure */
	struct {
		VEC(struct trace_waiting *);
	} waiting;
	size_t next;
	struct arena memory; /* of those that wait, and their events */
	struct {
		VEC(struct clew_trace_range *);
	} ranges; /* that they refer to, of epochs of long before */
};

/** Events of a batch, by number, and the ranges of those that have one. */
struct trace_made {
	struct {
		VEC(struct clew_trace_event);
	} events;
	struct {
		VEC(struct clew_trace_range);
	} partial;
};

struct clew_trace {
	struct os_map map; /* data NULL: a snapshot or a stream */
	int fd;
	struct perf_input input;
	struct dso_store_opts symbols;
	struct budget budget;
	struct clew_left_out left_out;
	struct clew_trace_summary summary;
	bool is_snapshot;
	struct trace_input *trace;
	struct clew_trace_unit *units;
	struct trace_state *states;
	struct clew_frame frame; /* of the last clew_trace_resolve() */
	struct clew_diag end;    /* of the pass, once that is over */
	/* During a pass. */
	bool is_running;     /* clew_trace_run() */
	bool is_pulling;     /* in clew_trace_next() */
	enum clew_err taken; /* what a callback returned that ended the pass */
	enum clew_err (*take)(void *ctx, const struct clew_trace_batch *b);
	void *take_ctx, *ctx; /* ctx: of the callbacks in run */
	struct clew_trace_run_opts run;
	struct trace_made made;
	struct who_answer answer; /* of the context that is asked for */
	struct buf who;           /* its texts */
	struct trace_pull pull;
};

/* --- trace_pass.c --- */

/** A new pass, with these options; one that is under way ends. */
void trace_pass_begin(struct clew_trace *t, const struct clew_trace_run_opts *run);
/** The pass is over, with CLEW_OK or CLEW_END at the end of the trace; @p why (NULL: unknown) is
 * more of it. @return CLEW_OK, or what ended it early: in t->end and *diag, too. */
enum clew_err trace_pass_end(struct clew_trace *t, enum clew_err err, const struct clew_diag *why,
			     struct clew_diag *diag);
/** What a callback returned. @return what the decoding ends with; CLEW_OK: with nothing yet. */
enum clew_err trace_pass_taken(struct clew_trace *t, enum clew_err result);
/** The options, for a decoding; without batch and unit_end. */
struct trace_decode_opts trace_pass_opts(struct clew_trace *t);

/* --- trace_batch.c --- */

/** For trace_decode_opts.batch; @p ctx is a struct clew_trace. */
enum clew_err trace_take_batch(void *ctx, size_t unit, const struct flow_batch *b);
/** The same where there is room for all its events in @p t->made. */
enum clew_err trace_cut_batch(struct clew_trace *t, size_t unit, const struct flow_batch *b);
/** The ranges of an epoch that a batch was made of. */
const struct clew_trace_range *trace_ranges_of(const struct trace_state *s, uint32_t epoch);
void trace_state_done(struct trace_state *s);
enum clew_isa trace_public_isa(enum isa isa);

/* --- trace_waiting.c --- */

/** NULL: no memory. */
struct trace_waiting *trace_waiting_add(struct trace_pull *p);
/** For take; @p ctx is a struct clew_trace: @p b waits until trace_waiting_drop(). */
enum clew_err trace_waiting_keep(void *ctx, const struct clew_trace_batch *b);
/** @p ranges are about to be replaced: batches that wait keep them. @return false: no memory. */
bool trace_waiting_keep_ranges(struct clew_trace *t, size_t unit, struct trace_ranges *ranges);
void trace_waiting_drop(struct trace_pull *p);
/** A pass that is under way ends; the next one is new. */
void trace_pull_done(struct trace_pull *p);

#endif
