/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_TRACE_EVENTS_IMPL_H
#define TRACE_EVENTS_TRACE_EVENTS_IMPL_H

#include "analyze/ana_filter.h"
#include "analyze/ana_tracing.h"
#include "flow/flow_code.h"
#include "flow/flow_key.h"
#include "trace/events/trace_events.h"
#include "unwind/unw_rule.h"
#include "who/who_ran.h"

/* Inside of the synthesis: trace_events.c sets up and runs it, trace_synth.c takes what a decoder
 * reports, trace_exec.c follows execution and decides what is an event, trace_emit.c makes the
 * events, trace_calls.c keeps stacks of calls and of branches, trace_leave.c decides what a branch
 * does to the former. */

/** Thread and time that an instruction is attributed to. */
struct trace_who {
	uint32_t pid, tid; /* all ones: unknown */
	const char *comm;
	struct clew_perf_ns time;
	uint64_t life; /* as trace_thread's */
	bool may_be_exec;
	bool has_answer;
	struct who_answer answer;
};

struct trace_synth;

/** --- trace_calls.c --- */

/** What a frame's callee was entered by. */
enum call_how {
	CALL_NEAR,
	CALL_SYSTEM, /* a system call */
	CALL_EVENT,  /* none: an interrupt, a fault or a signal came at ret */
	CALL_CUT,    /* unknown; ret: enum unw_stop */
};

struct call {
	uint64_t ret;    /* where it returns to */
	uint64_t callee; /* where it went; 0: unknown */
	uint32_t space;  /* of ret */
	uint8_t how;     /* enum call_how */
	bool is_at_end;  /* tracing ended with it: its return may not be seen */
	bool is_inner;   /* the function that made it ran straight from its begin to it */
};

struct call_kept;

/** Calls of one thread that have not returned, outermost first. Only those that nothing since can
 * have removed. */
struct call_stack {
	VEC(struct call);
	uint64_t life;          /* of the thread that has the id */
	uint64_t losses;        /* call_stacks.losses, when the calls were last known to hold */
	struct call_kept *kept; /* of a transaction; NULL: none runs */
	uint8_t cut;            /* enum unw_stop: why the outermost one's callers are unknown; NONE:
				   nothing says that it has any */
	bool has_begun;
	bool is_new; /* nothing ran in user mode since its life began */
};

static inline bool call_is_kernel(uint64_t addr)
{
	return addr >> 63;
}

/** Nothing was called. */
void call_stack_clear(struct call_stack *s);
/** Forget all. */
void call_stack_cut(struct call_stack *s, enum unw_stop why);
bool call_stack_push(struct call_stack *s, const struct call *c);
/** The first call that is known to lead to the last one: 0, or after a CALL_CUT. */
size_t call_stack_floor(const struct call_stack *s);
/** Why the callers of that one are unknown; UNW_STOP_NONE: nothing says that it has any. */
enum unw_stop call_stack_why_cut(const struct call_stack *s, size_t floor);
/** The innermost call from the floor on that returns to @p to. */
bool call_stack_find(const struct call_stack *s, uint64_t to, size_t *ret);
/** The innermost entry from user mode. */
bool call_stack_entry(const struct call_stack *s, size_t *ret);
/** What the kernel called is unknown. */
void call_stack_cut_kernel(struct call_stack *s, enum unw_stop why);
/** A transaction begins: should it be aborted, all is as now. @return false: no memory. */
bool call_stack_keep(struct call_stack *s);
bool call_stack_restore(struct call_stack *s);

/** The owner of calls, and where it runs. */
struct call_owner {
	uint64_t life;
	size_t unit;
	uint32_t tid;  /* all ones: unknown */
	bool is_exact; /* else who ran on the unit before is of no interest */
};

struct call_stacks {
	struct map_u64 by_thread;     /* -> index of all */
	struct call_owner last_owner; /* asked for last, if has_last */
	size_t last;
	bool has_last, has_forgotten;
	uint64_t losses; /* of trace that may have been of any thread */
	size_t nr_calls; /* that there is memory for, of all but the last one */
	struct {
		VEC(struct call_stack);
	} all;
	struct {
		VEC(uint64_t); /* key + 1; 0: none */
	} running;             /* by unit */
};

/** NULL: no memory. Valid until the next call. */
struct call_stack *call_stacks_of(struct call_stacks *c, const struct call_owner *o);
/** The same, if it was asked for last; else NULL. */
static inline struct call_stack *call_stacks_last(const struct call_stacks *c, uint32_t tid,
						  uint64_t life, size_t unit)
{
	const struct call_owner *last = &c->last_owner;

	return last->tid == tid && last->life == life && last->unit == unit && c->has_last
		     ? &c->all.data[c->last]
		     : NULL;
}
/** Trace of the unit is missing: all but those that ran elsewhere may have run there. */
void call_stacks_lose(struct call_stacks *c, size_t unit);
void call_stacks_done(struct call_stacks *c);

/** --- trace_leave.c: what branches do to the calls --- */
struct trace_place;
/** The last instruction branched to @p to. @return whether that was a call, though by a return. */
bool trace_leave_branch(struct trace_synth *s, struct call_stack *c, uint32_t flow,
			const struct trace_place *to);
/** Is it a call of a place within its own function, as a retpoline has it? It leads nowhere else.
 */
bool trace_leave_is_label(struct trace_events *e, const struct call *c);
/** Tracing ended with it, and where it went is unknown. */
void trace_leave_end(struct trace_synth *s, struct call_stack *c, uint32_t flow);
/** Tracing begins at @p at. */
void trace_leave_begin(struct trace_synth *s, struct call_stack *c, const struct trace_place *at);

/** --- trace_stack_switch.c --- */
enum trace_switches { SWITCHES_UNKNOWN, SWITCHES_NOT, SWITCHES };
/** Does what ran up to the last instruction end with another stack than its own? */
bool trace_switches_stack(struct trace_synth *s);

struct taken_branch {
	uint64_t from, to;
	uint32_t from_space, to_space, cycles;
};

/** The last branches of a unit. */
struct branch_ring {
	struct taken_branch *all; /* max of them; NULL: none are kept */
	uint32_t max, nr, next;
};

bool branch_ring_init(struct branch_ring *r, uint32_t max);
void branch_ring_add(struct branch_ring *r, const struct taken_branch *w);
/** The @p i-th, newest first. */
const struct taken_branch *branch_ring_at(const struct branch_ring *r, uint32_t i);

/** --- trace_exec.c --- */
enum { TRACE_MAX_EVDS = 64 };
enum { TRACE_NO_BLOCK = UINT32_MAX };

enum trace_before { BEFORE_NOTHING, BEFORE_GAP, BEFORE_NO_CODE, BEFORE_RAN };

/** The last instruction executed. */
struct last_insn {
	uint64_t ip, end;      /* end: the address after it; of an exception, where it returns to */
	uint64_t start;        /* of the instructions in a row that it ends */
	uint32_t space, block; /* block: TRACE_NO_BLOCK: not of one */
	uint32_t exception;    /* ANA_FLOW_ bits; 0: none came */
	uint8_t isa, kind, flags, detail;
	bool is_taken;
};

struct block_locs {
	const struct ana_loc *first, *last;
	uint8_t switches; /* enum trace_switches */
};

/** What matters of a block when it runs. */
struct trace_run_block {
	uint16_t nr_insns;
	bool branches; /* its branch, where taken, makes an event, or a call to remember */
	bool reports;  /* the trace reports its branch */
	bool is_known;
	/* Of trace_steps.c: where its branch went last, and the number of that + 1; or of its first
	 * instruction. 0: none. */
	uint32_t to, id;
};

/** --- trace_ops_events.c --- */
struct trace_ops_memo; /* who ran, and what is where, of the last operations */

enum { TRACE_NR_PEBS_REGS = 18 };

/** A PEBS record that comes with the trace. Each of has: it was written. */
struct trace_pebs {
	uint64_t ip, tsc, address, latency;
	uint64_t regs[TRACE_NR_PEBS_REGS];
	uint32_t has_regs; /* bits */
	bool has_ip, has_tsc, has_address, has_latency;
};

/** One unit's execution so far. */
struct trace_synth {
	struct trace_ops_memo *ops_memo; /* NULL: none was met */
	struct trace_events *events;
	const struct trace_unit *unit;
	struct flow_code code; /* the unit's */
	size_t index;
	struct code_key key;
	uint32_t space;
	struct trace_who now, then; /* then: of .last, where has_then */
	struct code_key then_key;   /* by which then is found, unless knows_then */
	bool has_now, has_then, knows_then;
	/* Of Intel PT: of the last branch that the trace reported, to which what ran after it
	 * belongs, up to the next one. */
	struct trace_who reported;
	struct code_key reported_key; /* by which it is found, unless knows_reported */
	bool is_reported_now;         /* it is now, in place of these */
	bool knows_reported;
	bool has_arrived;  /* at the next item: trace_synth_arrive() */
	bool has_new_time; /* and nothing ran since; only where intervals are kept */
	bool has_points;   /* only places are known */
	enum trace_before before;
	struct last_insn last;
	uint64_t nr_insns, sampled_at;    /* sampled_at: nr_insns of the last sample */
	uint64_t reported_at;             /* nr_insns when cycles were last reported */
	uint32_t branch_cycles;           /* since the last branch */
	uint64_t nr_cycles, cycles_until; /* since then; cycles_until: nr_insns of the last count */
	bool has_ipc;                     /* Intel PT: to the branch that is reported next */
	uint64_t sample_from;             /* time or ticks when the next sample is due */
	bool is_by_count;
	bool is_in_tx, has_abort; /* of a transaction; has_abort: an exception follows */
	bool keeps_next;          /* one began, and the branch before it is not finished */
	bool has_if, is_if;       /* EFLAGS.IF, where the trace has it */
	bool flips_if;            /* with the branch that comes next */
	uint8_t cbr;              /* last reported */
	uint8_t new_cbr;          /* to be reported with what comes next; 0: none */
	struct trace_pebs pebs;   /* items so far */
	uint8_t nr_evds;
	struct ana_evd evds[TRACE_MAX_EVDS]; /* of the event that comes next */
	struct branch_ring ring;
	struct {
		VEC(struct block_locs);
	} locs; /* by block number */
	struct {
		VEC(struct trace_run_block);
	} runs; /* the same */
	uint32_t epoch;
	bool has_epoch;
	uint32_t stamp, generation; /* of .runs, for trace_steps.c */
	bool is_unseen;             /* nothing is counted, sampled or shown of what runs */
};

/** Can the last instruction's branch change the calls? */
static inline bool trace_leave_may(const struct trace_synth *s, uint32_t flow, bool is_exact)
{
	const struct last_insn *l = &s->last;
	uint32_t any = ANA_FLOW_CALL | ANA_FLOW_RETURN | ANA_FLOW_TX_ABORT;

	return flow & any ||
	       (is_exact && !l->exception && (l->kind == INSN_INDIRECT || l->kind == INSN_BRANCH));
}

static inline bool trace_synth_is_x86(const struct trace_synth *s)
{
	return s->unit->decoder->arch == CODE_X86;
}

/** Where execution continues. */
struct trace_place {
	uint64_t ip;
	uint32_t space, block; /* block as last_insn */
	uint8_t isa;
};

static inline struct trace_place trace_at_block(const struct flow_block *b, uint32_t number)
{
	return (struct trace_place){b->start, b->space, number, b->isa};
}

/** @p is_e: its branch was taken. */
static inline struct last_insn trace_last_of_block(const struct flow_block *b, uint32_t number,
						   bool is_e)
{
	return (struct last_insn){
		.ip = b->start + b->bytes - b->last_bytes,
		.end = b->start + b->bytes,
		.start = b->start,
		.space = b->space,
		.block = number,
		.isa = b->isa,
		.kind = b->kind,
		.flags = b->flags,
		.detail = b->detail,
		.is_taken = is_e,
	};
}

/** Keep for the intervals that the trace was on at the new timestamp. */
void trace_exec_note_time(struct trace_synth *s);
/** Trace follows, whatever is wanted of it: after a new timestamp it was on then, or later. */
static inline void trace_exec_note_payload(struct trace_synth *s)
{
	if (!s->has_new_time)
		return;
	s->has_new_time = false;
	trace_exec_note_time(s);
}

/** Thread and time of what runs next. */
const struct trace_who *trace_exec_who(struct trace_synth *s);
/** Before a context or a time changes: what ran keeps those it ran in. */
void trace_exec_keep_who(struct trace_synth *s);
/** Execution comes to @p n: finish the branch before it, or begin. */
void trace_exec_arrive(struct trace_synth *s, const struct trace_place *n);
/** The last instruction branched to @p n. */
void trace_exec_branch(struct trace_synth *s, const struct trace_place *n);
/** @p nr instructions from @p n on ran. @p last: of them; is_taken: if it is a branch. */
void trace_exec_run(struct trace_synth *s, const struct trace_place *n,
		    const struct last_insn *last, uint32_t nr);
/** What comes next does not follow what ran. */
void trace_exec_end(struct trace_synth *s);
/** The same, where the trace says so; @p to: where the last branch went, or NULL. */
void trace_exec_leave(struct trace_synth *s, const struct trace_place *to);
/** Execution came to @p n, and what it did there is unknown. */
void trace_exec_stop_at(struct trace_synth *s, const struct trace_place *n);
/** Tracing begins at @p n, where nothing ran yet. */
void trace_exec_begin(struct trace_synth *s, const struct trace_place *n);
/** Is a branch of @p flow asked for? */
bool trace_exec_is_wanted(const struct trace_synth *s, uint32_t flow);
/** Finish the branch before @p n, where execution is, though nothing ran there yet. */
void trace_exec_pass(struct trace_synth *s, const struct trace_place *n);
/** An interrupt, or what looks like one, came at @p n, and nothing of it ran. */
void trace_exec_interrupt(struct trace_synth *s, const struct trace_place *n, uint32_t flow);
/** A sample of what is left of a period, as perf makes it, so that no last branch is lost. */
void trace_exec_sample_rest(struct trace_synth *s);
/** Instructions are missing: there may be calls and returns among them, and other threads. */
void trace_exec_forget_calls(struct trace_synth *s);
/** A transaction begins. */
void trace_exec_keep_calls(struct trace_synth *s);
const struct ana_loc *trace_exec_loc_of_last(struct trace_synth *s);
/** What is known of the block that the last instruction ends. NULL: of none, or no memory. */
struct block_locs *trace_exec_locs_of_last(struct trace_synth *s);
const struct ana_loc *trace_exec_loc_of_next(struct trace_synth *s, const struct trace_place *n);
/** Is the instruction that ends at @p end a system call? */
bool trace_exec_is_syscall(struct trace_synth *s, uint32_t space, uint8_t isa, uint64_t end);
/** Emit the branch to @p n, a return, as the call that it is. */
void trace_exec_emit_call(struct trace_synth *s, const struct trace_place *n, uint32_t flow,
			  struct call_stack *calls);
/** The address of instruction @p nth after @p n. */
uint64_t trace_exec_insn_at(struct trace_synth *s, const struct trace_place *n, uint64_t nth);
/** ANA_FLOW_ bits of what holds besides: in a transaction, with interrupts off. */
uint32_t trace_exec_state(const struct trace_synth *s);
/** Of an interrupt that ends tracing; @p has_target: it is known where execution continues. */
uint32_t trace_exec_off(struct trace_synth *s, bool has_target);
/** ANA_FLOW_ bits of a branch that is taken; 0: it is none. */
uint32_t trace_exec_flow(const struct last_insn *l);
/** Does only the next branch that is reported prove that it ran? */
bool trace_exec_is_silent(const struct last_insn *l);
bool trace_exec_keeps_calls(const struct trace_synth *s);
/** The calls of @p who's thread; NULL: not kept, or no memory. */
struct call_stack *trace_exec_calls_of(struct trace_synth *s, const struct trace_who *who);
/** Thread and time of the last branch that was reported. */
const struct trace_who *trace_exec_who_reported(struct trace_synth *s);
/** What each event of the last instruction's branch to @p n has. */
void trace_exec_step(struct trace_synth *s, const struct trace_place *n, struct ana_step *ret);
/** The same of the instruction at @p n. */
void trace_exec_insn_step(struct trace_synth *s, const struct trace_place *n, uint32_t flow,
			  struct ana_step *ret);
/** ANA_FLOW_ bits of an exception after the last instruction. */
uint32_t trace_exec_exception(struct trace_synth *s, enum flow_cause cause);

/** --- trace_runs.c: blocks in a row --- */
/** For trace_synth.is_unseen: depends on what is wanted alone. */
bool trace_runs_are_unseen(const struct trace_synth *s);
/** The first event from item @p i on, or the end. */
size_t trace_runs_end(const struct flow_batch *b, size_t i);
/** Can what runs next be taken so? */
bool trace_runs_may(const struct trace_synth *s);
/** Take the blocks from item @p i on; the one before it ran. @return where an event comes, or the
 * end. */
size_t trace_runs_take(struct trace_synth *s, const struct flow_batch *b, size_t i);
/** Valid until the next call. NULL: no memory. */
const struct trace_run_block *trace_runs_add(struct trace_synth *s, const struct flow_batch *b,
					     uint32_t number);
static inline const struct trace_run_block *trace_runs_get(struct trace_synth *s,
							   const struct flow_batch *b,
							   uint32_t number)
{
	return number < s->runs.nr && s->runs.data[number].is_known ? &s->runs.data[number]
								    : trace_runs_add(s, b, number);
}
/** @p item, a block, was the last that ran. */
void trace_runs_set_last(struct trace_synth *s, const struct flow_batch *b, uint32_t item);

/** --- trace_synth.c --- */
enum clew_err trace_synth_init(struct trace_synth *s, struct trace_events *e, size_t unit);
enum clew_err trace_synth_batch(struct trace_synth *s, const struct flow_batch *b);
/** After @p b was given: only that execution comes to @p item, a block or a range, next. The next
 * batch begins with it. */
enum clew_err trace_synth_arrive(struct trace_synth *s, const struct flow_batch *b, uint32_t item);
void trace_synth_done(struct trace_synth *s);

/** --- trace_notes.c: what Intel PT reports besides execution --- */
bool trace_notes_add_evsels(struct trace_events *e);
void trace_notes_take(struct trace_synth *s, const struct flow_event *e);
/** A transaction began or ended at e->end. */
void trace_notes_transaction(struct trace_synth *s, const struct flow_event *e);
/** It was aborted, and execution goes to @p to. */
void trace_notes_abort(struct trace_synth *s, uint32_t flow, uint64_t to);
/** A ratio of clocks that is new, before what comes at @p ip. */
void trace_notes_put_cbr(struct trace_synth *s, uint64_t ip);

/** --- trace_pebs.c: samples of events that wrote into the trace --- */
/** The only recorded event that did; NULL: none, or it is unknown which. */
const struct perf_evsel *trace_pebs_evsel(const struct trace_events *e);
void trace_pebs_item(struct trace_synth *s, const struct flow_event *e);
/** The record is complete. */
void trace_pebs_take(struct trace_synth *s, const struct flow_event *e);

/** --- trace_points.c: places, where code is not followed --- */
/** Execution is at e->address. */
void trace_points_take(struct trace_synth *s, const struct flow_event *e);
/** Tracing ended on the way to @p to, from an unknown place. */
void trace_points_end(struct trace_synth *s, const struct trace_place *to);

/** --- trace_emit.c --- */
enum { TRACE_BATCH_EVENTS = 256, TRACE_NR_NAMES = 64 };

/** Events of a sampled operation, in the order in which it makes them. */
enum trace_op_event {
	OP_L1D_MISS,
	OP_L1D_ACCESS,
	OP_LLC_MISS,
	OP_LLC_ACCESS,
	OP_TLB_MISS,
	OP_TLB_ACCESS,
	OP_BRANCH,
	OP_REMOTE_ACCESS,
	OP_MEMORY,
	OP_INSTRUCTIONS,
	NR_OP_EVENTS
};

struct trace_events {
	struct trace_events_opts opts;
	struct trace_input *trace;
	const struct ana_consumer *consumer;
	struct ana_filter_set filter;
	struct perf_evlist list;                 /* its evsels are others' or in memory */
	struct perf_evsel *branches, *insns;     /* NULL: not made */
	struct perf_evsel *of_ops[NR_OP_EVENTS]; /* the same */
	struct perf_evsel *of_notes[ANA_NR_NOTES], *transactions;
	const struct perf_evsel *pebs; /* a recorded one, or NULL */
	bool shows_notes;              /* any of these */
	struct known_jump *jumps;      /* of trace_leave.c; NULL: none yet */
	struct known_name {
		const struct dso_sym *sym; /* NULL: none */
		bool is_unwinder;
	} names[TRACE_NR_NAMES];
	struct trace_synth *synths; /* by unit */
	struct call_stacks calls;
	struct map_u64 unreadable; /* binaries without code that were reported: dso */
	struct trace_events_summary summary;
	uint64_t epoch, nr_skipped;
	/* The batch being filled. */
	size_t nr;
	struct ana_event events[TRACE_BATCH_EVENTS];
	struct perf_sample samples[TRACE_BATCH_EVENTS];
	struct ana_synth synths_of[TRACE_BATCH_EVENTS];
	struct ana_op ops[TRACE_BATCH_EVENTS];
	struct ana_note notes[TRACE_BATCH_EVENTS];
	struct who_answer answers[TRACE_BATCH_EVENTS]; /* of each event */
	size_t nr_ops;
	uint64_t nr_batches;           /* before it */
	struct trace_repeats *repeats; /* NULL: none are wanted */
	struct trace_steps *steps;     /* the same */
	struct ana_tracing *tracing;   /* the input's; NULL: nothing switches it */
	struct arena batch_memory;
	struct arena chain_memory; /* of an epoch */
	struct map_u64 chains;     /* hash -> the first chain of that hash */
	uint32_t nr_chains;
	struct trace_merge *merge;          /* NULL: unit by unit */
	struct clew_perf_ns recorded_until; /* time of the latest recorded event */
	bool is_prepared;
	enum clew_err err;
};

/** @p ticks of @p unit on the recording's clock. @return false: they do not compare with it. */
static inline bool trace_events_time(const struct trace_events *e, size_t unit,
				     struct clew_ticks ticks, struct clew_perf_ns *ret)
{
	struct trace_input *t = e->trace;

	if (!e->opts.itrace.is_kernel_time)
		return t->ops->time(t, unit, ticks, ret);
	ret->ns = ticks.ticks;
	return true;
}

/** The same for an event; none: events have no times, or @p ticks do not compare. */
static inline struct clew_perf_ns trace_events_time_or_none(const struct trace_events *e,
							    size_t unit, struct clew_ticks ticks)
{
	struct clew_perf_ns time;

	return !e->opts.itrace.is_timeless && trace_events_time(e, unit, ticks, &time)
		     ? time
		     : clew_perf_ns_none();
}

/** --- trace_attr.c: what all events made of trace have of the recorded one --- */
struct perf_attr trace_events_attr(const struct trace_events *e);

/** The contents of an event. */
struct synth_fields {
	uint64_t ip, addr;
	const struct ana_loc *loc, *to;
	const struct trace_who *who;
	uint32_t flow, space;
	uint8_t isa;
	uint64_t period;
	struct call_stack *calls; /* NULL: none are kept */
};

/** A free event of @p unit with what all have. NULL: the consumer has had enough. */
struct ana_event *trace_emit_next(struct trace_events *e, const struct trace_unit *unit,
				  const struct trace_who *who);
/** Its sample; @p ev's record.misc is set. */
struct perf_sample *trace_emit_sample(struct trace_events *e, struct ana_event *ev,
				      const struct perf_evsel *evsel, const struct synth_fields *t);
/** Do the filters keep it? */
bool trace_emit_keeps(struct trace_events *e, const struct perf_sample *s,
		      const struct trace_who *who);

/* --- trace_ops_events.c: sampled operations --- */

/** Every Nth operation of a unit makes events. */
uint64_t trace_ops_period(const struct itrace_opts *o);
/** @return false: no memory. */
bool trace_ops_add_evsels(struct trace_events *e);
enum clew_err trace_ops_take(struct trace_synth *s, const struct trace_ops_batch *b);

/* --- trace_repeats.c: operations that differ from one before only in what is not shown --- */

/** What the events of an operation are made of. */
struct trace_repeat_key {
	uint64_t pc, target, events, source;
	uint64_t stay;      /* number of the answer to who ran it */
	uint64_t operation; /* class, payload, levels, ... */
	uint32_t has, unit;
};

struct trace_repeats *trace_repeats_new(void);
void trace_repeats_free(struct trace_repeats *r);

/** Emit again what was kept for an equal key. @return false: nothing was, or e->err. */
bool trace_repeats_emit(struct trace_events *e, const struct trace_repeat_key *k,
			struct clew_perf_ns time);
/** Before its events are emitted: they will be in one batch. */
bool trace_repeats_begin(struct trace_events *e);
/** After: keep those from @p from of the batch on, if it was met before. @p who: its owner;
 * @p nr_filtered: events that the filters dropped. */
void trace_repeats_keep(struct trace_events *e, const struct trace_repeat_key *k, size_t from,
			const struct trace_who *who, uint64_t nr_filtered);

/** Does the next branch report cycles? */
bool trace_emit_has_cycles(const struct trace_synth *s);
/** Errors stick in events->err. */
void trace_emit_branch(struct trace_synth *s, const struct synth_fields *t);
void trace_emit_insn(struct trace_synth *s, const struct synth_fields *t);
/** A sample of @p evsel, a recorded event, with what else @p with has of what it asks for. */
void trace_emit_recorded(struct trace_synth *s, const struct perf_evsel *evsel,
			 const struct synth_fields *t, const struct perf_sample *with);
/** @p note: NULL: a transaction. */
void trace_emit_note(struct trace_synth *s, const struct perf_evsel *evsel,
		     const struct synth_fields *t, const struct ana_note *note);
/** Not of who. */
void trace_emit_step(struct trace_synth *s, const struct synth_fields *t, struct ana_step *ret);
/** An event for steps, to be counted when it has them. NULL: as trace_emit_next(). */
struct ana_event *trace_emit_steps(struct trace_synth *s, const struct perf_evsel *evsel,
				   const struct trace_who *who, bool *ret_is_kept);
/** @p nr events go to the consumer as @p ev. */
void trace_emit_count(struct trace_events *e, const struct ana_event *ev, uint64_t nr);
/** What went wrong; its texts are static. */
struct trace_error {
	uint32_t code; /* as perf numbers them */
	const char *words, *why;
	uint64_t ip; /* 0: not at one address */
	bool is_of_no_unit;
	uint32_t cpu; /* then */
};
/** Do the filters keep an error that is met now? Those of trace that is decoded in whole are all
 * kept; of other trace, some are in what is skipped. */
bool trace_emit_keeps_error(const struct trace_synth *s);
void trace_emit_error(struct trace_synth *s, const struct trace_error *error);
enum clew_err trace_emit_flush(struct trace_events *e);

/** --- trace_merge.c: units side by side, in order of time --- */

struct trace_merge;
/** *ret NULL: there is nothing to merge by, or one unit alone. @p opts: to decode with; copied. */
enum clew_err trace_merge_new(struct trace_merge **ret, struct trace_events *e,
			      const struct trace_decode_opts *opts);
void trace_merge_free(struct trace_merge *m);
/** Do times of the trace compare with the recorded ones? */
bool trace_merge_is_with_recorded(const struct trace_merge *m);
/** What ran before @p time, and all that is left. */
enum clew_err trace_merge_until(struct trace_merge *m, struct clew_perf_ns time);
enum clew_err trace_merge_rest(struct trace_merge *m);

/** @p addr in @p space, as the input resolves it. */
const struct ana_loc *trace_locate(struct trace_events *e, uint32_t space, uint64_t addr);

#endif
