/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_ETM_EVENTS_IMPL_H
#define TRACE_EVENTS_ETM_EVENTS_IMPL_H

#include "analyze/ana_impl.h"
#include "trace/events/etm_events.h"
#include "trace/trace_decode.h"

/* Inside of the synthesis: etm_events.c sets up and runs it, etm_synth.c follows execution,
 * etm_emit.c makes the events, etm_calls.c keeps stacks of calls and of branches. */

/** In whose name something ran, and when. */
struct etm_who {
	uint32_t pid, tid; /* all ones: not known */
	const char *comm;
	uint64_t time; /* all ones: not known */
};

/** --- etm_calls.c --- */
struct etm_call {
	uint64_t ret;
	uint32_t space;
};

/** Calls of one thread that have not returned, outermost first. */
struct etm_stack {
	VEC(struct etm_call);
};

struct etm_calls {
	struct map_u64 by_thread; /* -> index of all */
	struct {
		VEC(struct etm_stack);
	} all;
};

/** The stack of @p tid, or where that is all ones, of @p unit. NULL: no memory. Valid until the
 * next call. */
struct etm_stack *etm_calls_of(struct etm_calls *c, uint32_t tid, size_t unit);
bool etm_stack_push(struct etm_stack *s, uint64_t ret, uint32_t space);
/** Up to and with the call that returns to @p to; nothing where there is none. */
void etm_stack_pop(struct etm_stack *s, uint64_t to);
void etm_calls_done(struct etm_calls *c);

struct etm_went {
	uint64_t from, to;
	uint32_t from_space, to_space, cycles;
};

/** The last branches of a unit. */
struct etm_ring {
	struct etm_went *all; /* max of them; NULL: none are kept */
	uint32_t max, nr, next;
};

bool etm_ring_init(struct etm_ring *r, uint32_t max);
void etm_ring_add(struct etm_ring *r, const struct etm_went *w);
/** The @p i-th, newest first. */
const struct etm_went *etm_ring_at(const struct etm_ring *r, uint32_t i);

/** --- etm_synth.c --- */
enum etm_before { ETM_NOTHING, ETM_GAP, ETM_NO_CODE, ETM_RAN };

/** The last instruction executed. */
struct etm_last {
	uint64_t ip, end; /* end: the address behind it; of an exception, where it returns to */
	uint32_t space, block; /* block: all ones: not of one */
	uint32_t exception;    /* ANA_FLOW_ bits; 0: none came */
	uint8_t isa, kind, flags;
	bool is_taken;
};

struct etm_block_locs {
	const struct ana_loc *first, *last;
};

/** One unit's execution so far. */
struct etm_synth {
	struct etm_events *events;
	const struct trace_unit *unit;
	size_t index;
	struct code_context context;
	uint32_t space;
	struct clew_ticks ticks;
	struct clew_perf_ns bound;
	struct etm_who now, then; /* then: of .last, where has_then */
	bool has_now, has_then;
	bool has_arrived; /* at the next item: etm_synth_arrive() */
	enum etm_before before;
	struct etm_last last;
	uint64_t nr_insns, sampled_at;    /* sampled_at: nr_insns of the last sample */
	uint64_t told_at;                 /* nr_insns when cycles were last told */
	uint32_t branch_cycles;           /* since the last branch */
	uint64_t nr_cycles, cycles_until; /* since then; cycles_until: nr_insns of the last count */
	uint64_t sample_from;             /* time or ticks when the next sample is due */
	bool is_by_count;
	struct etm_ring ring;
	struct {
		VEC(struct etm_block_locs);
	} locs; /* by block number */
	uint32_t epoch;
	bool has_epoch;
};

enum clew_err etm_synth_init(struct etm_synth *s, struct etm_events *e, size_t unit);
enum clew_err etm_synth_batch(struct etm_synth *s, const struct flow_batch *b);
/** After @p b was given: only that execution comes to @p item, a block or a range, next. The next
 * batch begins with it. */
enum clew_err etm_synth_arrive(struct etm_synth *s, const struct flow_batch *b, uint32_t item);
void etm_synth_done(struct etm_synth *s);

/** --- etm_emit.c --- */
enum { ETM_BATCH_EVENTS = 256 };

struct etm_events {
	struct etm_events_opts opts;
	struct trace_input *trace;
	const struct ana_consumer *consumer;
	struct ana_filter_set filter;
	struct perf_evlist list;             /* its evsels are others' or in memory */
	struct perf_evsel *branches, *insns; /* NULL: not made */
	struct etm_synth *synths;            /* by unit */
	struct etm_calls calls;
	struct etm_events_summary summary;
	uint64_t epoch, nr_skipped;
	/* The batch being filled. */
	size_t nr;
	struct ana_event events[ETM_BATCH_EVENTS];
	struct perf_sample samples[ETM_BATCH_EVENTS];
	struct ana_synth synths_of[ETM_BATCH_EVENTS];
	struct arena batch_memory;
	struct arena chain_memory; /* of an epoch */
	struct map_u64 chains;     /* hash -> the first chain of that hash */
	uint32_t nr_chains;
	struct etm_merge *merge; /* NULL: unit by unit */
	uint64_t recorded_until; /* time of the latest recorded event */
	bool is_prepared;
	enum clew_err err;
};

/** What an event tells. */
struct etm_told {
	uint64_t ip, addr;
	const struct ana_loc *loc, *to;
	const struct etm_who *who;
	uint32_t flow, space;
	uint8_t isa;
	uint64_t period;
	const struct etm_stack *calls; /* NULL: none are kept */
};

/** Errors stick in events->err. */
void etm_emit_branch(struct etm_synth *s, const struct etm_told *t);
void etm_emit_insn(struct etm_synth *s, const struct etm_told *t);
/** What went wrong; its texts are static. */
struct etm_error {
	uint32_t code; /* as perf numbers them */
	const char *words, *why;
	uint64_t ip;     /* 0: not at one address */
	bool is_nobodys; /* of no unit */
};
void etm_emit_error(struct etm_synth *s, const struct etm_error *error);
enum clew_err etm_emit_flush(struct etm_events *e);

/** --- etm_merge.c: units side by side, in order of time --- */

struct etm_merge;
/** *ret NULL: there is nothing to merge by, or one unit alone. @p opts: to decode with; copied. */
enum clew_err etm_merge_new(struct etm_merge **ret, struct etm_events *e,
			    const struct trace_decode_opts *opts);
void etm_merge_free(struct etm_merge *m);
/** Do times of the trace compare with the recorded ones? */
bool etm_merge_is_with_recorded(const struct etm_merge *m);
/** What ran before @p time, and all that is left. */
enum clew_err etm_merge_until(struct etm_merge *m, uint64_t time);
enum clew_err etm_merge_rest(struct etm_merge *m);

/** @p addr in @p space, as the input resolves it. */
const struct ana_loc *etm_locate(struct etm_events *e, uint32_t space, uint64_t addr);
/** The bytes of the instruction at @p addr; 0: not readable. */
uint8_t etm_read_insn(const struct etm_synth *s, uint32_t space, uint8_t isa, uint64_t addr,
		      uint8_t ret[4]);

#endif
