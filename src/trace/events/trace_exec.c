/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_branch.h"
#include "trace/events/trace_events_impl.h"

/* --- thread and time --- */

static struct clew_perf_ns time_of(const struct trace_synth *s, const struct code_key *key)
{
	return key->ticks.ticks ? trace_events_time_or_none(s->events, s->index, key->ticks)
				: clew_perf_ns_none();
}

static void find_who(struct trace_synth *s, const struct code_key *key, struct trace_who *ret)
{
	struct trace_thread thread = {.pid = UINT32_MAX, .tid = UINT32_MAX};
	struct trace_input *t = s->events->trace;

	t->ops->thread(t, s->index, key, &thread);
	ret->pid = thread.pid;
	ret->tid = thread.tid;
	ret->comm = thread.comm;
	ret->life = thread.life;
	ret->may_be_exec = thread.may_be_exec;
	ret->time = time_of(s, key);
	ret->has_answer = thread.who;
	if (thread.who)
		ret->answer = *thread.who;
	if (!ret->comm && !s->events->opts.recorded) /* a snapshot knows no threads */
		ret->comm = s->unit->name;
}

/** Thread and time of what runs next. */
const struct trace_who *trace_exec_who(struct trace_synth *s)
{
	if (!s->has_now)
		find_who(s, &s->key, &s->now);
	s->has_now = true;
	return &s->now;
}

static const struct trace_who *who_then(struct trace_synth *s)
{
	if (!s->has_then)
		return trace_exec_who(s);
	if (!s->knows_then)
		find_who(s, &s->then_key, &s->then);
	s->knows_then = true;
	return &s->then;
}

bool trace_exec_is_silent(const struct last_insn *l)
{
	return l->isa >= ISA_X86_64 && !l->exception && l->kind != INSN_COND &&
	       l->kind != INSN_INDIRECT && l->kind != INSN_FAR;
}

const struct trace_who *trace_exec_who_reported(struct trace_synth *s)
{
	if (s->is_reported_now)
		return trace_exec_who(s);
	if (!s->knows_reported)
		find_who(s, &s->reported_key, &s->reported);
	s->knows_reported = true;
	return &s->reported;
}

static const struct trace_who *who_of_last(struct trace_synth *s)
{
	return trace_exec_is_silent(&s->last) ? trace_exec_who_reported(s) : who_then(s);
}

static void keep_reported(struct trace_synth *s)
{
	if (!s->is_reported_now)
		return;
	s->is_reported_now = false;
	s->knows_reported = s->has_now;
	if (s->has_now)
		s->reported = s->now;
	else
		s->reported_key = s->key;
}

/** Before a context or a time changes: what ran keeps those it ran in. Most is never asked for. */
void trace_exec_keep_who(struct trace_synth *s)
{
	keep_reported(s);
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

/* --- what an instruction does --- */

bool trace_exec_is_syscall(struct trace_synth *s, uint32_t space, uint8_t isa, uint64_t end)
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

/** Of x86. */
static uint32_t flow_of_far(uint8_t detail)
{
	switch ((enum x86_detail)detail) {
	case X86_FAR_CALL:
		return ANA_FLOW_BRANCH | ANA_FLOW_CALL;
	case X86_FAR_RETURN:
		return ANA_FLOW_BRANCH | ANA_FLOW_RETURN;
	case X86_SYSCALL:
		return ANA_FLOW_BRANCH | ANA_FLOW_CALL | ANA_FLOW_SYSCALL;
	case X86_SYSRET:
		return ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_SYSCALL;
	case X86_IRET:
		return ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_INTERRUPT;
	case X86_VM_ENTRY:
		return ANA_FLOW_BRANCH | ANA_FLOW_VM_ENTRY;
	case X86_FAR_JUMP:
	case X86_NONE:
	case X86_CALL_TO_NEXT:
	case X86_INT:
	case X86_VM_CALL:
	case X86_MOV_CR3:
	case X86_VMPTRLD:
	case X86_PTWRITE:
		break;
	}
	return ANA_FLOW_BRANCH;
}

static uint32_t flow_of_x86(const struct last_insn *l)
{
	if (l->kind == INSN_FAR)
		return flow_of_far(l->detail);
	if (l->kind == INSN_BRANCH && l->detail == X86_CALL_TO_NEXT)
		return ANA_FLOW_BRANCH | ANA_FLOW_CALL;
	return flow_of_insn(l->kind, l->flags) & ~(uint32_t)ANA_FLOW_INDIRECT;
}

uint32_t trace_exec_flow(const struct last_insn *l)
{
	return l->isa >= ISA_X86_64 ? flow_of_x86(l) : flow_of_insn(l->kind, l->flags);
}

uint32_t trace_exec_state(const struct trace_synth *s)
{
	return (s->is_in_tx ? ANA_FLOW_IN_TX : 0u) |
	       (s->has_if && !s->is_if ? ANA_FLOW_NO_INTR : 0u) |
	       (s->flips_if ? ANA_FLOW_INTR_FLIP : 0u);
}

/** A branch was made an event; interrupts are on, or off, from it on. */
static void flip(struct trace_synth *s)
{
	s->is_if ^= s->flips_if;
	s->flips_if = false;
}

static uint32_t flow_of_last(const struct trace_synth *s)
{
	const struct last_insn *l = &s->last;

	return (l->exception ? l->exception : trace_exec_flow(l)) | trace_exec_state(s);
}

uint32_t trace_exec_exception(struct trace_synth *s, enum flow_cause cause)
{
	const struct last_insn *l = &s->last;
	const uint32_t call = ANA_FLOW_BRANCH | ANA_FLOW_CALL;

	switch (cause) {
	case FLOW_CAUSE_CALL:
		if (trace_exec_is_syscall(s, l->space, l->isa, l->end))
			return call | ANA_FLOW_SYSCALL;
		break;
	case FLOW_CAUSE_ASYNC:
		return call | ANA_FLOW_ASYNC | ANA_FLOW_INTERRUPT;
	case FLOW_CAUSE_OTHER:
		break;
	}
	return call | ANA_FLOW_INTERRUPT;
}

uint32_t trace_exec_off(struct trace_synth *s, bool has_target)
{
	return has_target ? trace_exec_exception(s, FLOW_CAUSE_ASYNC)
			  : ANA_FLOW_BRANCH | ANA_FLOW_ASYNC;
}

bool trace_exec_is_wanted(const struct trace_synth *s, uint32_t flow)
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

bool trace_exec_keeps_calls(const struct trace_synth *s)
{
	return !s->has_points && (s->events->opts.wants_depth || s->events->opts.itrace.chains);
}

static CLEW_COLD struct call_stack *other_calls(struct trace_synth *s, const struct trace_who *who)
{
	const struct call_owner owner = {
		.life = who->life,
		.unit = s->index,
		.tid = who->tid,
		.is_exact = s->events->opts.itrace.chains,
	};
	struct call_stack *calls = call_stacks_of(&s->events->calls, &owner);

	if (!calls)
		s->events->err = CLEW_NO_MEMORY;
	return calls;
}

struct call_stack *trace_exec_calls_of(struct trace_synth *s, const struct trace_who *who)
{
	struct call_stack *calls;

	if (!trace_exec_keeps_calls(s))
		return NULL;
	calls = call_stacks_last(&s->events->calls, who->tid, who->life, s->index);
	return calls ? calls : other_calls(s, who);
}

/** The last instruction went to @p to, if that is known. @return NULL: none are kept, or of
 * interest.
 */
static struct call_stack *note_call(struct trace_synth *s, uint32_t *flow,
				    const struct trace_place *to)
{
	const struct itrace_opts *o = &s->events->opts.itrace;
	bool is_end = *flow & ANA_FLOW_TRACE_END;
	struct call_stack *calls;

	if (!trace_exec_keeps_calls(s))
		return NULL;
	if (!s->keeps_next && !s->events->branches && !trace_leave_may(s, *flow, o->chains))
		return NULL;
	calls = trace_exec_calls_of(s, *flow & ANA_FLOW_RETURN && !is_end ? trace_exec_who(s)
									  : who_of_last(s));
	if (!calls || !to)
		return calls;
	if (trace_leave_branch(s, calls, *flow, to) && o->calls)
		*flow = (*flow & ~(uint32_t)ANA_FLOW_RETURN) | ANA_FLOW_CALL;
	if (s->keeps_next && !call_stack_keep(calls))
		s->events->err = CLEW_NO_MEMORY;
	s->keeps_next = false;
	return calls;
}

/* --- places --- */

static struct block_locs *locs_of(struct trace_synth *s, uint32_t block)
{
	if (block == TRACE_NO_BLOCK)
		return NULL;
	if (!vec_reach(&s->locs, (size_t)block + 1)) {
		s->events->err = CLEW_NO_MEMORY;
		return NULL;
	}
	return &s->locs.data[block];
}

struct block_locs *trace_exec_locs_of_last(struct trace_synth *s)
{
	return s->last.exception ? NULL : locs_of(s, s->last.block);
}

const struct ana_loc *trace_exec_loc_of_last(struct trace_synth *s)
{
	struct block_locs *locs = locs_of(s, s->last.block);

	if (!locs || s->last.exception)
		return trace_locate(s->events, s->last.space, s->last.ip);
	if (!locs->last)
		locs->last = trace_locate(s->events, s->last.space, s->last.ip);
	return locs->last;
}

const struct ana_loc *trace_exec_loc_of_next(struct trace_synth *s, const struct trace_place *n)
{
	struct block_locs *locs = locs_of(s, n->block);

	if (!locs)
		return trace_locate(s->events, n->space, n->ip);
	if (!locs->first)
		locs->first = trace_locate(s->events, n->space, n->ip);
	return locs->first;
}

/* --- branches --- */

static struct synth_fields fields_from(struct trace_synth *s, uint32_t flow,
				       const struct trace_place *to)
{
	struct synth_fields t = {
		.ip = s->last.ip,
		.loc = trace_exec_loc_of_last(s),
		.flow = flow,
		.space = s->last.space,
		.isa = s->last.isa,
		.period = 1,
	};

	if (to) {
		t.addr = to->ip;
		if (s->events->opts.wants_addr)
			t.to = trace_exec_loc_of_next(s, to);
	}
	return t;
}

static void emit_from(struct trace_synth *s, uint32_t flow, const struct trace_place *to,
		      struct call_stack *calls)
{
	struct synth_fields t = fields_from(s, flow, to);

	t.who = who_of_last(s);
	t.calls = calls;
	trace_emit_branch(s, &t);
}

void trace_exec_emit_call(struct trace_synth *s, const struct trace_place *n, uint32_t flow,
			  struct call_stack *calls)
{
	flow = (flow & ~(uint32_t)ANA_FLOW_RETURN) | ANA_FLOW_CALL;
	if (trace_exec_is_wanted(s, flow))
		emit_from(s, flow, n, calls);
}

static void begin_trace(struct trace_synth *s, const struct trace_place *n)
{
	struct synth_fields t = {
		.addr = n->ip,
		.flow = ANA_FLOW_BRANCH | ANA_FLOW_TRACE_BEGIN | trace_exec_state(s),
		.period = 1,
	};
	bool is_wanted = trace_exec_is_wanted(s, t.flow);

	flip(s);
	if (!is_wanted && !trace_exec_keeps_calls(s))
		return;
	t.who = trace_exec_who(s);
	t.calls = trace_exec_calls_of(s, t.who);
	if (t.calls)
		trace_leave_begin(s, t.calls, n);
	if (!is_wanted)
		return;
	if (s->events->opts.wants_addr)
		t.to = trace_exec_loc_of_next(s, n);
	trace_emit_branch(s, &t);
}

/** Of the last instruction's branch to @p n. */
static uint32_t flow_to(struct trace_synth *s, const struct trace_place *n)
{
	uint32_t flow = flow_of_last(s);

	if (flow == (ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_INTERRUPT) &&
	    trace_exec_is_syscall(s, n->space, n->isa, n->ip))
		return ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_SYSCALL;
	return flow;
}

void trace_exec_step(struct trace_synth *s, const struct trace_place *n, struct ana_step *ret)
{
	const struct synth_fields t = fields_from(s, flow_to(s, n), n);

	trace_emit_step(s, &t, ret);
}

void trace_exec_branch(struct trace_synth *s, const struct trace_place *n)
{
	uint32_t flow = flow_to(s, n);
	struct call_stack *calls;

	flip(s);
	calls = note_call(s, &flow, n);
	branch_ring_add(&s->ring, &(struct taken_branch){s->last.ip, n->ip, s->last.space, n->space,
							 s->branch_cycles});
	s->branch_cycles = 0;
	if (flow & ANA_FLOW_TX_ABORT && s->events->transactions)
		trace_notes_abort(s, flow, n->ip);
	if (trace_exec_is_wanted(s, flow))
		emit_from(s, flow, n, calls);
}

/** The instruction at @p n is the next one. */
void trace_exec_arrive(struct trace_synth *s, const struct trace_place *n)
{
	if (s->before == BEFORE_RAN && s->last.is_taken)
		trace_exec_branch(s, n);
	else if (s->before != BEFORE_RAN)
		begin_trace(s, n);
}

void trace_exec_pass(struct trace_synth *s, const struct trace_place *n)
{
	if (s->before != BEFORE_RAN || !s->last.is_taken)
		return;
	trace_exec_branch(s, n);
	s->last.is_taken = false;
}

/* perf hands out what is left of a period, so that no last branch is lost. */
void trace_exec_sample_rest(struct trace_synth *s)
{
	struct synth_fields t = {
		.ip = s->last.ip,
		.space = s->last.space,
		.isa = s->last.isa,
		.period = s->nr_insns - s->sampled_at,
	};

	if (!s->events->insns || !s->events->opts.itrace.last_branches || !t.period)
		return;
	t.who = who_then(s);
	t.loc = trace_exec_loc_of_last(s);
	t.calls = trace_exec_calls_of(s, t.who);
	trace_emit_insn(s, &t);
	s->sampled_at = s->nr_insns;
}

static void end_calls(struct trace_synth *s, uint32_t flow)
{
	struct call_stack *calls = trace_exec_calls_of(s, who_of_last(s));

	if (calls)
		trace_leave_end(s, calls, flow);
}

void trace_exec_leave(struct trace_synth *s, const struct trace_place *to)
{
	uint32_t flow = flow_of_last(s) | ANA_FLOW_BRANCH | ANA_FLOW_TRACE_END;

	if (s->before == BEFORE_RAN) {
		struct call_stack *calls = note_call(s, &flow, to);

		flip(s);
		trace_exec_sample_rest(s);
		if (trace_exec_is_wanted(s, flow))
			emit_from(s, flow, to, calls);
		if (!to && trace_exec_keeps_calls(s))
			end_calls(s, flow);
	}
	s->before = BEFORE_GAP;
	s->has_then = false;
	s->ring.nr = s->ring.next = 0;
}

void trace_exec_end(struct trace_synth *s)
{
	trace_exec_leave(s, NULL);
}

void trace_exec_stop_at(struct trace_synth *s, const struct trace_place *n)
{
	if (s->before != BEFORE_RAN)
		return;
	trace_exec_sample_rest(s);
	if (s->last.is_taken)
		trace_exec_branch(s, n);
	s->before = BEFORE_GAP;
	s->has_then = false;
}

void trace_exec_begin(struct trace_synth *s, const struct trace_place *n)
{
	begin_trace(s, n);
	s->last = (struct last_insn){
		.ip = n->ip, .end = n->ip, .space = n->space, .block = n->block, .isa = n->isa};
	s->before = BEFORE_RAN;
	s->has_then = false;
	s->is_reported_now = true;
}

void trace_exec_interrupt(struct trace_synth *s, const struct trace_place *n, uint32_t flow)
{
	if (s->before == BEFORE_RAN && s->last.is_taken)
		trace_exec_branch(s, n);
	s->last = (struct last_insn){.ip = n->ip,
				     .end = n->ip,
				     .space = n->space,
				     .block = TRACE_NO_BLOCK,
				     .exception = flow,
				     .isa = n->isa,
				     .is_taken = true};
	s->has_then = false;
	s->is_reported_now = true;
}

void trace_exec_forget_calls(struct trace_synth *s)
{
	struct call_stack *calls;

	if (!trace_exec_keeps_calls(s))
		return;
	calls = trace_exec_calls_of(s, trace_exec_who(s));
	if (calls)
		call_stack_cut(calls, UNW_STOP_TRACE_LOST);
	if (s->unit->tid == UINT32_MAX)
		call_stacks_lose(&s->events->calls, s->index);
}

/** A transaction begins. */
void trace_exec_keep_calls(struct trace_synth *s)
{
	struct call_stack *calls;

	if (!trace_exec_keeps_calls(s))
		return;
	if (!s->events->opts.itrace.chains)
		return;
	s->keeps_next = s->before == BEFORE_RAN && s->last.is_taken;
	calls = s->keeps_next ? NULL : trace_exec_calls_of(s, trace_exec_who(s));
	if (calls && !call_stack_keep(calls))
		s->events->err = CLEW_NO_MEMORY;
}

/* --- instructions --- */

uint64_t trace_exec_insn_at(struct trace_synth *s, const struct trace_place *n, uint64_t nth)
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

static const struct trace_who *who_of_insn(struct trace_synth *s, uint64_t ip)
{
	bool is_last = ip == s->last.ip;

	if (!trace_synth_is_x86(s) || (is_last && !trace_exec_is_silent(&s->last)))
		return trace_exec_who(s);
	return trace_exec_who_reported(s);
}

static struct synth_fields fields_at(struct trace_synth *s, const struct trace_place *n,
				     uint32_t flow)
{
	return (struct synth_fields){
		.ip = n->ip,
		.loc = trace_exec_loc_of_next(s, n),
		.flow = flow,
		.space = n->space,
		.isa = n->isa,
	};
}

void trace_exec_insn_step(struct trace_synth *s, const struct trace_place *n, uint32_t flow,
			  struct ana_step *ret)
{
	const struct synth_fields t = fields_at(s, n, flow);

	trace_emit_step(s, &t, ret);
}

static void sample(struct trace_synth *s, const struct trace_place *n, uint64_t period,
		   uint32_t flow)
{
	struct synth_fields t = fields_at(s, n, flow);

	t.who = who_of_insn(s, n->ip);
	t.period = period;
	t.calls = trace_exec_calls_of(s, t.who);
	trace_emit_insn(s, &t);
}

static void sample_by_time(struct trace_synth *s, const struct trace_place *n, uint64_t until)
{
	const struct itrace_opts *o = &s->events->opts.itrace;
	uint64_t clock = o->unit == ITRACE_TICKS ? s->key.ticks.ticks : trace_exec_who(s)->time.ns;

	if (!clock || clock == UINT64_MAX || clock < s->sample_from)
		return;
	sample(s, n, until + 1 - s->sampled_at, 0);
	s->sampled_at = until + 1;
	s->sample_from = clock + o->period;
}

/** @p nr instructions from @p n on ran; @p flow of the last one. */
static void run(struct trace_synth *s, const struct trace_place *n, uint32_t nr, uint32_t flow)
{
	uint64_t period = s->events->opts.itrace.period, until = s->nr_insns, at = 0;
	struct trace_place here = *n;

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
			here.ip = trace_exec_insn_at(s, &here, nth - at);
			here.block = TRACE_NO_BLOCK;
		}
		at = nth;
		sample(s, &here, period, nth + 1 == nr ? flow : 0);
		s->sampled_at += period;
	}
}

void trace_exec_note_time(struct trace_synth *s)
{
	const struct trace_who *who = trace_exec_who(s);

	ana_intervals_payload(&s->events->tracing->intervals, who->tid, s->unit->cpu, who->time);
}

void trace_exec_run(struct trace_synth *s, const struct trace_place *n,
		    const struct last_insn *last, uint32_t nr)
{
	uint32_t of_insn = trace_exec_flow(last), flow = last->is_taken ? of_insn : 0;

	if (!s->has_arrived)
		trace_exec_arrive(s, n);
	s->has_arrived = false;
	s->last = *last;
	s->last.is_taken = flow != 0;
	s->before = BEFORE_RAN;
	if (!trace_synth_is_x86(s))
		s->has_then = false;
	trace_exec_note_payload(s);
	run(s, n, nr,
	    trace_synth_is_x86(s) ? of_insn : flow); /* perf: also of a branch not taken */
	s->has_then = false;
	s->is_reported_now |= !trace_exec_is_silent(&s->last);
}
