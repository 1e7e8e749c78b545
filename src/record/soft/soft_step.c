/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_thread.h"

/* From one branch to the next: a thread that stands at a branch shows where it will go, and so
 * where the next one is: one stop for each. */

enum { REG_SP = 4 };

enum prediction { WILL_GO, UNKNOWN, MUST_STEP };

static struct x86_state state_of(const struct os_regs *r)
{
	return (struct x86_state){r->gpr, r->flags, r->fs_base, r->gs_base};
}

/* Memory that other threads can write may change before it is read by the branch. */
static enum prediction find_target(const struct soft_thread *t, const struct soft_block *b,
				   const struct os_regs *r, uint64_t *ret)
{
	const struct x86_state s = state_of(r);
	const struct x86_outcome *o = &b->outcome;
	uint64_t place = x86_outcome_place(o, &s);

	*ret = place;
	if (o->way == X86_WAY_REG)
		return WILL_GO;
	if (o->way == X86_WAY_MEMORY && soft_thread_shares(t))
		return MUST_STEP;
	*ret = 0; /* x86 is little-endian, and so are we */
	return os_task_read(t->tid, place, ret, o->target_bytes) == o->target_bytes ? WILL_GO
										    : UNKNOWN;
}

static enum prediction predict(struct soft_thread *t, const struct soft_block *b,
			       const struct os_regs *r)
{
	struct soft_pending p = {
		.is_there = true, .is_conditional = b->is_conditional, .at = b->stop};
	enum prediction found = WILL_GO;

	if (b->is_conditional) {
		const struct x86_state s = state_of(r);

		p.is_taken = x86_is_taken(&b->outcome, &s);
		p.target = p.is_taken ? b->target : b->outcome.next;
	} else {
		found = find_target(t, b, r, &p.target);
	}
	if (found == WILL_GO)
		t->pending = p;
	return found;
}

void soft_confirm(struct soft_tracer *x, struct soft_thread *t)
{
	const struct soft_pending *p = &t->pending;

	if (t->begin_at)
		soft_stream_on(&t->stream, t->begin_at, t->stream.is_64);
	t->begin_at = 0;
	if (!p->is_there)
		return;
	if (t->stream.is_on && p->is_conditional)
		soft_stream_branch(&t->stream, p->is_taken);
	else if (t->stream.is_on)
		soft_stream_target(&t->stream, p->target);
	t->pending.is_there = false;
	x->totals.nr_branches++;
}

/* RF holds until an instruction was executed: a thread that came round to the same branch again has
 * it clear. */
void soft_settle(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (t->pending.is_there && r->ip == t->pending.at && r->flags & OS_FLAG_RF)
		t->pending.is_there = false;
	if (!soft_is_before(t, r))
		soft_confirm(x, t);
}

static void step(struct soft_tracer *x, struct soft_thread *t, enum soft_step why, int signal)
{
	x->totals.nr_steps++;
	t->step = why;
	os_ptrace_go(t->tid, OS_GO_STEP, signal);
}

/* Run up to the end of @p b, which is not where the thread stands. */
static void run_to(struct soft_tracer *x, struct soft_thread *t, const struct soft_block *b,
		   int signal)
{
	enum soft_stop kind = (enum soft_stop)b->kind;

	if (kind == SOFT_STOP_CALL) {
		t->call_at = b->stop;
		os_ptrace_go(t->tid, OS_GO_TO_CALL, signal);
		return;
	}
	t->next = kind == SOFT_STOP_NONE || kind == SOFT_STOP_TRAP ? 0 : b->stop;
	t->step_block = *b; /* of a trap: where it is */
	if (!t->next || soft_arm(t, t->next))
		os_ptrace_go(t->tid, OS_GO_ON, signal);
	else
		step(x, t, SOFT_STEP_TO, signal);
}

static bool is_leaving_function(const struct soft_thread *t, const struct soft_block *b,
				const struct os_regs *r)
{
	return t->function_sp && b->outcome.way == X86_WAY_RETURN && !b->is_conditional &&
	       r->gpr[REG_SP] == t->function_sp;
}

static void step_branch(struct soft_tracer *x, struct soft_thread *t, const struct soft_block *b,
			int signal)
{
	t->step_block = *b;
	step(x, t, SOFT_STEP_BRANCH, signal);
}

static void pass_breakpoint(const struct soft_thread *t, const struct os_regs *r)
{
	if (!(r->flags & OS_FLAG_RF) && soft_is_armed(t, r->ip))
		os_ptrace_set_flags(t->tid, r->flags | OS_FLAG_RF);
}

/* Release the thread at the branch @p b; the next stop is the end of the block after it. */
static void go_over(struct soft_tracer *x, struct soft_thread *t, const struct soft_block *b,
		    const struct os_regs *r, int signal)
{
	enum prediction p = predict(t, b, r);
	const struct soft_block *after;
	struct soft_block stop;

	if (p == MUST_STEP) {
		step_branch(x, t, b, signal);
		return;
	}
	if (p == UNKNOWN) { /* it will fault */
		os_ptrace_go(t->tid, OS_GO_ON, signal);
		return;
	}
	pass_breakpoint(t, r);
	stop = (struct soft_block){.stop = t->pending.target, .kind = SOFT_STOP_PLAIN};
	after = is_leaving_function(t, b, r)
		      ? &stop
		      : soft_code_block(&t->space->code, t->pending.target, r->is_64);
	if (!after) {
		t->pending.is_there = false;
		step_branch(x, t, b, signal);
		return;
	}
	run_to(x, t, after, signal);
}

static void go_from(struct soft_tracer *x, struct soft_thread *t, const struct soft_block *b,
		    const struct os_regs *r, int signal)
{
	switch ((enum soft_stop)b->kind) {
	case SOFT_STOP_BRANCH:
		go_over(x, t, b, r, signal);
		break;
	case SOFT_STOP_STEP:
		t->step_block = *b;
		step(x, t, SOFT_STEP_FAR, signal);
		break;
	case SOFT_STOP_CALL:
	case SOFT_STOP_TRAP:
	case SOFT_STOP_PLAIN:
	case SOFT_STOP_NONE:
		run_to(x, t, b, signal);
		break;
	}
}

static void go(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r, int signal)
{
	const struct soft_block *found = soft_code_block(&t->space->code, r->ip, r->is_64);
	struct soft_block b;

	/* A handler came back to where its breakpoint has not been hit: now it is. */
	if (!t->has_arrived && !(r->flags & OS_FLAG_RF) && soft_is_spot(t, r->ip)) {
		t->step_block = (struct soft_block){0};
		os_ptrace_go(t->tid, OS_GO_ON, signal);
		return;
	}
	if (!found) { /* out of memory: it runs untraced */
		if (t->stream.is_on)
			soft_stream_off_at(&t->stream, r->ip);
		t->is_on = false;
		t->begin_at = 0;
		os_ptrace_go(t->tid, OS_GO_ON, signal);
		return;
	}
	b = *found;
	if (b.stop == r->ip) {
		go_from(x, t, &b, r, signal);
	} else {
		pass_breakpoint(t, r);
		run_to(x, t, &b, signal);
	}
}

/* To the instruction after the one at which the stream begins; of a branch: to the next stop. */
static void go_past(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	struct soft_block after = {.kind = SOFT_STOP_PLAIN};

	t->stream.is_64 = r->is_64;
	after.stop = soft_code_after(&t->space->code, r->ip, r->is_64);
	if (after.stop) {
		pass_breakpoint(t, r);
		run_to(x, t, &after, 0);
	} else {
		go(x, t, r, 0);
	}
}

void soft_continue(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		   int signal)
{
	t->next = t->call_at = 0;
	t->step = SOFT_STEP_NONE;
	t->pending.is_there = false;
	if (!t->is_on) {
		soft_disarm(t);
		os_ptrace_go(t->tid, t->stops_at_calls ? OS_GO_TO_CALL : OS_GO_ON, signal);
	} else if (t->begin_at) {
		go_past(x, t, r);
	} else if (!t->stream.is_on) {
		os_ptrace_go(t->tid, OS_GO_TO_CALL, signal);
	} else {
		go(x, t, r, signal);
	}
}

/* Of a branch of which the outcome was not predicted. */
static void write_branch(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	const struct soft_block *b = &t->step_block;

	if (b->is_conditional)
		soft_stream_branch(&t->stream, r->ip == b->target);
	else
		soft_stream_target(&t->stream, r->ip);
	x->totals.nr_branches++;
}

/* What is no branch continues after itself; else something took it elsewhere. */
static void write_far(struct soft_thread *t, const struct os_regs *r)
{
	const struct soft_block *b = &t->step_block;

	if (r->ip == b->stop + b->bytes)
		return;
	soft_stream_off(&t->stream);
	soft_stream_on(&t->stream, r->ip, r->is_64);
}

void soft_stepped(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	enum soft_step why = t->step;

	t->step = SOFT_STEP_NONE;
	soft_settle(x, t, r);
	if (!t->stream.is_on)
		return;
	if (why == SOFT_STEP_BRANCH)
		write_branch(x, t, r);
	else if (why == SOFT_STEP_FAR)
		write_far(t, r);
}
