/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

/* Follows one unit's execution and decides what is an event. */

enum { NO_BLOCK = UINT32_MAX };

/* As perf numbers what can go wrong with a trace (tools/perf/util/intel-pt-decoder). */
enum {
	ERROR_BAD_PACKET = 3,
	ERROR_NO_CODE = 5,
	ERROR_BAD_IMAGE = 6,
	ERROR_OVERFLOW = 7,
	ERROR_LOST = 8,
	ERROR_UNKNOWN = 9,
};

/** Can the trace's timestamps measure a period? Decided before the first one: counts begin there.
 */
static bool has_clock(const struct trace_events *e, size_t unit)
{
	const struct itrace_opts *o = &e->opts.itrace;
	struct clew_perf_ns time;

	if (!e->trace->units[unit].has_timestamps)
		return false;
	return o->unit == ITRACE_TICKS || trace_events_time(e, unit, (struct clew_ticks){1}, &time);
}

enum clew_err trace_synth_init(struct trace_synth *s, struct trace_events *e, size_t unit)
{
	const struct itrace_opts *o = &e->opts.itrace;

	*s = (struct trace_synth){
		.events = e,
		.unit = &e->trace->units[unit],
		.index = unit,
		.last.block = NO_BLOCK,
	};
	if (s->unit->decoder)
		flow_code_init(&s->code, s->unit->code, s->unit->decoder->insns, false);
	s->is_by_count = o->unit == ITRACE_INSNS || o->is_timeless || !has_clock(e, unit);
	return branch_ring_init(&s->ring, o->last_branches ? o->max_branches : 0) ? CLEW_OK
										  : CLEW_NO_MEMORY;
}

void trace_synth_done(struct trace_synth *s)
{
	mem_free(s->ops_memo);
	mem_free(s->ring.all);
	vec_done(&s->locs);
}

static struct clew_perf_ns time_of(const struct trace_synth *s, const struct code_key *key)
{
	struct clew_perf_ns time;

	if (!key->ticks.ticks || s->events->opts.itrace.is_timeless ||
	    !trace_events_time(s->events, s->index, key->ticks, &time))
		return clew_perf_ns_none();
	return time;
}

static void find_who(struct trace_synth *s, const struct code_key *key, struct trace_who *ret)
{
	struct trace_thread thread = {UINT32_MAX, UINT32_MAX, NULL};
	struct trace_input *t = s->events->trace;

	t->ops->thread(t, s->index, key, &thread);
	ret->pid = thread.pid;
	ret->tid = thread.tid;
	ret->comm = thread.comm;
	ret->time = time_of(s, key);
	ret->has_answer = thread.who;
	if (thread.who)
		ret->answer = *thread.who;
	if (!ret->comm && !s->events->opts.recorded) /* a snapshot knows no threads */
		ret->comm = s->unit->name;
}

/** Thread and time of what runs next. */
static const struct trace_who *who_now(struct trace_synth *s)
{
	if (!s->has_now)
		find_who(s, &s->key, &s->now);
	s->has_now = true;
	return &s->now;
}

static const struct trace_who *who_then(struct trace_synth *s)
{
	if (!s->has_then)
		return who_now(s);
	if (!s->knows_then)
		find_who(s, &s->then_key, &s->then);
	s->knows_then = true;
	return &s->then;
}

/** Before a context or a time changes: what ran keeps those it ran in. Most is never asked for. */
static void keep_who(struct trace_synth *s)
{
	if (s->before == BEFORE_RAN && !s->has_then) {
		s->has_then = true;
		s->knows_then = s->has_now;
		if (s->has_now)
			s->then = s->now;
		else
			s->then_key = s->key;
	}
	s->has_now = false;
}

static bool is_syscall(struct trace_synth *s, uint32_t space, uint8_t isa, uint64_t end)
{
	return s->code.insns->is_syscall(&s->code, space, (enum isa)isa, end);
}

static uint32_t flow_of_insn(uint8_t kind, uint8_t flags)
{
	switch ((enum insn_kind)kind) {
	case INSN_BRANCH:
	case INSN_COND:
		if (flags & INSN_LINK)
			return ANA_FLOW_BRANCH | ANA_FLOW_CALL;
		return ANA_FLOW_BRANCH | (kind == INSN_COND ? ANA_FLOW_COND : 0u);
	case INSN_INDIRECT:
		if (flags & INSN_ERET)
			return ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_INTERRUPT;
		if (flags & INSN_LINK)
			return ANA_FLOW_BRANCH | ANA_FLOW_CALL;
		return ANA_FLOW_BRANCH |
		       (flags & INSN_RET ? ANA_FLOW_RETURN : (uint32_t)ANA_FLOW_INDIRECT);
	case INSN_PLAIN:
	case INSN_ISB:
	case INSN_WFX:
	case INSN_TSTART:
	case INSN_FAR:
	case INSN_SPECIAL:
		break;
	}
	return 0;
}

static uint32_t flow_of_last(const struct trace_synth *s)
{
	const struct last_insn *l = &s->last;

	return l->exception ? l->exception : flow_of_insn(l->kind, l->flags);
}

static uint32_t flow_of_exception(struct trace_synth *s, enum flow_cause cause)
{
	const struct last_insn *l = &s->last;
	const uint32_t call = ANA_FLOW_BRANCH | ANA_FLOW_CALL;

	switch (cause) {
	case FLOW_CAUSE_CALL:
		if (is_syscall(s, l->space, l->isa, l->end))
			return call | ANA_FLOW_SYSCALL;
		break;
	case FLOW_CAUSE_ASYNC:
		return call | ANA_FLOW_ASYNC | ANA_FLOW_INTERRUPT;
	case FLOW_CAUSE_OTHER:
		break;
	}
	return call | ANA_FLOW_INTERRUPT;
}

static bool is_wanted(const struct trace_synth *s, uint32_t flow)
{
	const struct itrace_opts *o = &s->events->opts.itrace;
	uint32_t calls = ANA_FLOW_CALL | ANA_FLOW_ASYNC | ANA_FLOW_TRACE_END;
	uint32_t returns = ANA_FLOW_RETURN | ANA_FLOW_TRACE_BEGIN;

	if (!s->events->branches)
		return false;
	if (!o->calls && !o->returns)
		return true;
	return (o->calls && flow & calls) || (o->returns && flow & returns);
}

static bool keeps_calls(const struct trace_synth *s)
{
	return s->events->opts.wants_depth || s->events->opts.itrace.chains;
}

/** The calls of @p who's thread; NULL: not kept, or no memory. */
static struct call_stack *calls_of(struct trace_synth *s, const struct trace_who *who)
{
	struct call_stack *calls;

	if (!keeps_calls(s))
		return NULL;
	calls = call_stacks_of(&s->events->calls, who->tid, s->index);
	if (!calls)
		s->events->err = CLEW_NO_MEMORY;
	return calls;
}

static struct call_stack *note_call(struct trace_synth *s, uint32_t flow, uint64_t to)
{
	struct call_stack *calls;

	if (!keeps_calls(s))
		return NULL;
	calls = calls_of(s, flow & ANA_FLOW_RETURN ? who_now(s) : who_then(s));
	if (!calls)
		return NULL;
	if (flow & ANA_FLOW_RETURN)
		call_stack_pop(calls, to);
	else if (flow & ANA_FLOW_CALL && !call_stack_push(calls, s->last.end, s->last.space))
		s->events->err = CLEW_NO_MEMORY;
	return calls;
}

/* --- places --- */

static struct block_locs *locs_of(struct trace_synth *s, uint32_t block)
{
	if (block == NO_BLOCK)
		return NULL;
	while (s->locs.nr <= block) {
		if (!vec_push(&s->locs, (struct block_locs){NULL, NULL})) {
			s->events->err = CLEW_NO_MEMORY;
			return NULL;
		}
	}
	return &s->locs.data[block];
}

static const struct ana_loc *loc_of_last(struct trace_synth *s)
{
	struct block_locs *locs = locs_of(s, s->last.block);

	if (!locs || s->last.exception)
		return trace_locate(s->events, s->last.space, s->last.ip);
	if (!locs->last)
		locs->last = trace_locate(s->events, s->last.space, s->last.ip);
	return locs->last;
}

/** Where execution continues. */
struct next {
	uint64_t ip;
	uint32_t space, block;
	uint8_t isa;
};

static const struct ana_loc *loc_of_next(struct trace_synth *s, const struct next *n)
{
	struct block_locs *locs = locs_of(s, n->block);

	if (!locs)
		return trace_locate(s->events, n->space, n->ip);
	if (!locs->first)
		locs->first = trace_locate(s->events, n->space, n->ip);
	return locs->first;
}

/* --- branches --- */

static void emit_from(struct trace_synth *s, uint32_t flow, const struct next *to,
		      const struct call_stack *calls)
{
	struct synth_fields t = {
		.ip = s->last.ip,
		.loc = loc_of_last(s),
		.who = who_then(s),
		.flow = flow,
		.space = s->last.space,
		.isa = s->last.isa,
		.period = 1,
		.calls = calls,
	};

	if (to) {
		t.addr = to->ip;
		if (s->events->opts.wants_addr)
			t.to = loc_of_next(s, to);
	}
	trace_emit_branch(s, &t);
}

static void begin_trace(struct trace_synth *s, const struct next *n)
{
	struct synth_fields t = {
		.addr = n->ip,
		.who = who_now(s),
		.flow = ANA_FLOW_BRANCH | ANA_FLOW_TRACE_BEGIN,
		.period = 1,
	};

	if (!is_wanted(s, t.flow))
		return;
	t.calls = calls_of(s, t.who);
	if (s->events->opts.wants_addr)
		t.to = loc_of_next(s, n);
	trace_emit_branch(s, &t);
}

static void on_branch(struct trace_synth *s, const struct next *n)
{
	uint32_t flow = flow_of_last(s);
	const struct call_stack *calls;

	if (flow == (ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_INTERRUPT) &&
	    is_syscall(s, n->space, n->isa, n->ip))
		flow = ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_SYSCALL;
	calls = note_call(s, flow, n->ip);
	branch_ring_add(&s->ring, &(struct taken_branch){s->last.ip, n->ip, s->last.space, n->space,
							 s->branch_cycles});
	s->branch_cycles = 0;
	if (is_wanted(s, flow))
		emit_from(s, flow, n, calls);
}

/** The instruction at @p n is the next one. */
static void arrive(struct trace_synth *s, const struct next *n)
{
	if (s->before == BEFORE_RAN && s->last.is_taken)
		on_branch(s, n);
	else if (s->before != BEFORE_RAN)
		begin_trace(s, n);
}

/* perf hands out what is left of a period, so that no last branch is lost. */
static void sample_rest(struct trace_synth *s)
{
	struct synth_fields t = {
		.ip = s->last.ip,
		.who = who_then(s),
		.space = s->last.space,
		.isa = s->last.isa,
		.period = s->nr_insns - s->sampled_at,
	};

	if (!s->events->insns || !s->events->opts.itrace.last_branches || !t.period)
		return;
	t.loc = loc_of_last(s);
	t.calls = calls_of(s, t.who);
	trace_emit_insn(s, &t);
	s->sampled_at = s->nr_insns;
}

/** What comes next does not follow what ran. */
static void end_trace(struct trace_synth *s)
{
	uint32_t flow = flow_of_last(s) | ANA_FLOW_BRANCH | ANA_FLOW_TRACE_END;

	if (s->before == BEFORE_RAN) {
		sample_rest(s);
		if (is_wanted(s, flow))
			emit_from(s, flow, NULL, calls_of(s, who_then(s)));
	}
	s->before = BEFORE_GAP;
	s->has_then = false;
	s->ring.nr = s->ring.next = 0;
}

/** Instructions are missing: there may be calls and returns among them. */
static void forget_calls(struct trace_synth *s)
{
	struct call_stack *calls = keeps_calls(s) ? calls_of(s, who_now(s)) : NULL;

	if (calls)
		calls->nr = 0;
}

/* --- instructions --- */

static uint64_t address_of(struct trace_synth *s, const struct next *n, uint64_t nth)
{
	const struct flow_insns *insns = s->code.insns;
	struct flow_insn_bytes each = insns->bytes((enum isa)n->isa);
	uint8_t bytes[FLOW_MAX_INSN_BYTES], size;
	uint64_t ip = n->ip;

	if (each.least == each.most)
		return ip + each.least * nth;
	while (nth-- > 0 &&
	       (size = insns->read(&s->code, n->space, (enum isa)n->isa, ip, bytes)) != 0)
		ip += size;
	return ip;
}

static void sample(struct trace_synth *s, const struct next *n, uint64_t period, uint32_t flow)
{
	struct synth_fields t = {
		.ip = n->ip,
		.loc = loc_of_next(s, n),
		.who = who_now(s),
		.flow = flow,
		.space = n->space,
		.isa = n->isa,
		.period = period,
	};

	t.calls = calls_of(s, t.who);
	trace_emit_insn(s, &t);
}

static void sample_by_time(struct trace_synth *s, const struct next *n, uint64_t until)
{
	const struct itrace_opts *o = &s->events->opts.itrace;
	uint64_t clock = o->unit == ITRACE_TICKS ? s->key.ticks.ticks : who_now(s)->time.ns;

	if (!clock || clock == UINT64_MAX || clock < s->sample_from)
		return;
	sample(s, n, until + 1 - s->sampled_at, 0);
	s->sampled_at = until + 1;
	s->sample_from = clock + o->period;
}

/** @p nr instructions from @p n on ran; @p flow of the last one. */
static void run(struct trace_synth *s, const struct next *n, uint32_t nr, uint32_t flow)
{
	uint64_t period = s->events->opts.itrace.period, until = s->nr_insns, at = 0;
	struct next here = *n;

	s->nr_insns += nr;
	if (!s->events->insns || !nr)
		return;
	if (!s->is_by_count) {
		sample_by_time(s, n, until);
		return;
	}
	while (s->nr_insns - s->sampled_at >= period && s->events->err == CLEW_OK) {
		uint64_t nth = s->sampled_at + period - until - 1;

		if (nth) {
			here.ip = address_of(s, &here, nth - at);
			here.block = NO_BLOCK;
		}
		at = nth;
		sample(s, &here, period, nth + 1 == nr ? flow : 0);
		s->sampled_at += period;
	}
}

/* --- what the decoder reports --- */

static void fail(struct trace_synth *s, uint32_t code, const char *words, const char *why)
{
	const struct trace_error error = {.code = code, .words = words, .why = why};

	who_now(s);
	trace_emit_error(s, &error);
}

static void fail_at(struct trace_synth *s, const struct flow_event *e)
{
	const struct code_source *code = s->unit->code;
	struct trace_error error = {
		.code = ERROR_NO_CODE,
		.words = "Failed to get instruction",
		.ip = e->address,
	};

	if (code->why)
		error.why = code->why(code->ctx, e->space, e->address);
	who_now(s);
	trace_emit_error(s, &error);
}

static struct next at_block(const struct flow_block *b, uint32_t number)
{
	return (struct next){b->start, b->space, number, b->isa};
}

static struct next at_range(const struct flow_event *e)
{
	return (struct next){e->address, e->space, NO_BLOCK, e->isa};
}

/** Execution continues at @p n: finish the pending branch. */
static void on_next(struct trace_synth *s, const struct next *n)
{
	if (!s->has_arrived)
		arrive(s, n);
	s->has_arrived = false;
}

static void take_block(struct trace_synth *s, const struct flow_block *b, uint32_t number,
		       bool is_e)
{
	const struct next n = at_block(b, number);
	uint32_t flow = is_e ? flow_of_insn(b->kind, b->flags) : 0;

	on_next(s, &n);
	s->last = (struct last_insn){
		.ip = b->start + b->bytes - b->last_bytes,
		.end = b->start + b->bytes,
		.space = b->space,
		.block = number,
		.isa = b->isa,
		.kind = b->kind,
		.flags = b->flags,
		.is_taken = flow != 0,
	};
	s->before = BEFORE_RAN;
	s->has_then = false;
	run(s, &n, b->nr_insns, flow);
}

/** Its last instruction is of no branch that was taken. */
static void take_range(struct trace_synth *s, const struct flow_event *e)
{
	const struct next n = at_range(e);

	if (!e->count)
		return;
	on_next(s, &n);
	s->last = (struct last_insn){
		.ip = address_of(s, &n, e->count - 1),
		.end = e->end,
		.space = e->space,
		.block = NO_BLOCK,
		.isa = e->isa,
		.kind = INSN_PLAIN,
	};
	s->before = BEFORE_RAN;
	s->has_then = false;
	run(s, &n, e->count, 0);
}

static void take_exception(struct trace_synth *s, const struct flow_event *e)
{
	struct next n = {e->address, s->space, NO_BLOCK, s->last.isa};

	if (s->before != BEFORE_RAN)
		return;
	if (s->last.is_taken) { /* the target of the branch did not run any more */
		on_branch(s, &n);
		s->has_then = false;
		s->last.ip = s->last.end = n.ip;
		s->last.space = n.space;
		s->last.block = NO_BLOCK;
	}
	s->last.exception = flow_of_exception(s, (enum flow_cause)e->cause);
	s->last.end = e->address;
	s->last.is_taken = true;
}

/** Unreadable code at the event's address: how execution came there is known. */
static void take_no_code(struct trace_synth *s, const struct flow_event *e)
{
	const struct next n = {e->address, e->space, NO_BLOCK, s->last.isa};

	if (s->before == BEFORE_RAN && s->last.is_taken) {
		sample_rest(s);
		on_branch(s, &n);
		s->before = BEFORE_GAP;
	}
	end_trace(s);
	s->before = BEFORE_NO_CODE;
	fail_at(s, e);
	forget_calls(s);
}

/** Branches in unknown code; after unreadable code that was reported already. */
static void take_dropped(struct trace_synth *s, const struct flow_event *e)
{
	s->events->summary.nr_dropped += e->value;
	if (s->before == BEFORE_NO_CODE)
		return;
	end_trace(s);
	fail(s, ERROR_LOST, "Lost trace data", "branches came before an address");
	forget_calls(s);
}

static bool is_muted(const struct trace_synth *s, char flag)
{
	return s->events->opts.itrace.errors_minus >> (flag - 'a') & 1;
}

static void take_no_sync(struct trace_synth *s, const struct flow_event *e)
{
	end_trace(s);
	flow_key_take_event(&s->key, e);
	s->has_now = false;
	switch ((enum flow_no_sync)e->reason) {
	case FLOW_NO_SYNC_INIT:
	case FLOW_NO_SYNC_RESET:
	case NR_FLOW_NO_SYNCS:
		break;
	case FLOW_NO_SYNC_OVERFLOW:
		if (!is_muted(s, 'o'))
			fail(s, ERROR_OVERFLOW, "Overflow packet", NULL);
		break;
	case FLOW_NO_SYNC_DISCARD:
		if (!is_muted(s, 'l'))
			fail(s, ERROR_LOST, "Lost trace data", NULL);
		break;
	case FLOW_NO_SYNC_BAD_PACKET:
		fail(s, ERROR_BAD_PACKET, "Bad packet", e->what);
		break;
	case FLOW_NO_SYNC_BAD_IMAGE:
		fail(s, ERROR_BAD_IMAGE, "Trace doesn't match instruction", e->what);
		break;
	}
	forget_calls(s);
}

static void take_context(struct trace_synth *s, const struct flow_event *e)
{
	keep_who(s);
	flow_key_take_event(&s->key, e);
	s->space = e->space;
}

static void take_timestamp(struct trace_synth *s, const struct flow_event *e)
{
	if (!e->ticks.ticks)
		return;
	keep_who(s);
	flow_key_take_event(&s->key, e);
}

static void take_cycles(struct trace_synth *s, const struct flow_event *e)
{
	if (!e->has_count)
		return;
	s->nr_cycles += e->count;
	s->branch_cycles += e->count;
	s->cycles_until = s->nr_insns;
}

/** Code that ran unseen: it counts for periods, and none of it can be a sample. */
static void take_no_path(struct trace_synth *s, const struct flow_event *e)
{
	const struct next n = {e->address, e->space, NO_BLOCK, e->isa};

	arrive(s, &n);
	s->nr_insns += e->has_count ? e->count : 0;
	if (s->is_by_count)
		s->sampled_at =
			s->nr_insns - (s->nr_insns - s->sampled_at) % s->events->opts.itrace.period;
	s->before = BEFORE_NOTHING;
	s->has_then = false;
	forget_calls(s);
}

static void take_event(struct trace_synth *s, const struct flow_event *e)
{
	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_NO_SYNC:
		take_no_sync(s, e);
		break;
	case FLOW_EV_TRACE_ON:
	case FLOW_EV_PE_RESET:
		end_trace(s);
		flow_key_take_event(&s->key, e);
		s->has_now = false;
		break;
	case FLOW_EV_CONTEXT:
		take_context(s, e);
		break;
	case FLOW_EV_RANGE:
		take_range(s, e);
		break;
	case FLOW_EV_NO_PATH:
		take_no_path(s, e);
		break;
	case FLOW_EV_NACC:
		take_no_code(s, e);
		break;
	case FLOW_EV_NO_TARGET:
		end_trace(s);
		fail(s, ERROR_LOST, "Lost trace data", "the target of a branch");
		forget_calls(s);
		break;
	case FLOW_EV_DROPPED:
		take_dropped(s, e);
		break;
	case FLOW_EV_EXCEPTION:
		take_exception(s, e);
		break;
	case FLOW_EV_TIMESTAMP:
		take_timestamp(s, e);
		break;
	case FLOW_EV_CYCLES:
		take_cycles(s, e);
		break;
	case FLOW_EV_BOUND:
	case FLOW_EV_SWITCH:
		keep_who(s);
		flow_key_take_event(&s->key, e);
		break;
	case FLOW_EV_UNSUPPORTED:
		fail(s, ERROR_UNKNOWN, "A packet that is not decoded", NULL);
		break;
	case FLOW_EV_END:
		sample_rest(s);
		break;
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_EVENT:
	case FLOW_EV_TS_MARKER:
	case FLOW_EV_INSTRUMENTATION:
	case FLOW_EV_TRANSACTION:
	case NR_FLOW_EVENTS:
		break;
	}
}

enum clew_err trace_synth_batch(struct trace_synth *s, const struct flow_batch *b)
{
	struct trace_events *e = s->events;

	if (!s->has_epoch || s->epoch != b->epoch) {
		s->locs.nr = 0;
		s->last.block = NO_BLOCK;
	}
	s->epoch = b->epoch;
	s->has_epoch = true;
	for (size_t i = 0; i < b->nr && e->err == CLEW_OK; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT)
			take_event(s, &b->events[item & ~FLOW_ITEM_EVENT]);
		else
			take_block(s, &b->blocks[item >> 1], item >> 1, item & 1);
	}
	return e->err;
}

enum clew_err trace_synth_arrive(struct trace_synth *s, const struct flow_batch *b, uint32_t item)
{
	struct next n;

	if (s->before != BEFORE_RAN) /* tracing begins there, and then */
		return s->events->err;
	n = item & FLOW_ITEM_EVENT ? at_range(&b->events[item & ~FLOW_ITEM_EVENT])
				   : at_block(&b->blocks[item >> 1], item >> 1);
	arrive(s, &n);
	s->has_arrived = true;
	return s->events->err;
}
