/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "record/soft/soft_thread.h"

/* What is traced of a thread: from a resume to a pause, a call of a function, or all. */

enum { CALL_BYTES = 5, CALL_DIRECT = 0xe8 };
enum { REG_SP = 4, REG_DI = 7, UNWOUND = 256 * 1024 };
enum { CALL_SETAFFINITY = 203, CALL_GETAFFINITY = 204 };

/* A stop costs half as much where both are on one CPU. */
static void pin(struct soft_tracer *x, struct soft_thread *t)
{
	struct os_cpu_set one;

	if (t->is_pinned || os_task_cpus(t->tid, &t->cpus))
		return;
	os_cpu_set_one(&one, x->cpu);
	t->is_pinned = !os_task_set_cpus(t->tid, &one);
}

static void unpin(struct soft_thread *t)
{
	if (t->is_pinned)
		os_task_set_cpus(t->tid, &t->cpus);
	t->is_pinned = false;
}

/* The program sees, and sets, the CPUs that it had: sched_setaffinity, sched_getaffinity. */
static struct soft_thread *placed_by(const struct soft_tracer *x, struct soft_thread *t,
				     const struct os_regs *r)
{
	int tid = (int)r->gpr[REG_DI];

	if (!r->is_64 || (r->call != CALL_SETAFFINITY && r->call != CALL_GETAFFINITY))
		return NULL;
	return tid ? soft_thread_find(x, tid) : t;
}

void soft_window_show_cpus(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	struct soft_thread *of = placed_by(x, t, r);

	if (of)
		unpin(of);
}

void soft_window_hide_cpus(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	struct soft_thread *of = placed_by(x, t, r);

	if (of && of->is_on)
		pin(x, of);
}

void soft_window_begin(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (t->is_on)
		return;
	t->is_on = true;
	x->totals.nr_windows++;
	pin(x, t);
	t->is_masked |= t->is_in_call; /* looked at when it is over */
	if (t->is_in_call)
		return;
	soft_mask_hide(t);
	soft_stream_on(&t->stream, r->ip, r->is_64);
}

/* A probe of the kernel has its sample when the instruction is executed: the trace begins after
 * that, and with it. */
static void begin_after(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (t->is_on)
		return;
	t->is_in_call = true; /* for now: no stream yet */
	soft_window_begin(x, t, r);
	t->is_in_call = false;
	t->begin_at = r->ip;
}

void soft_window_end(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (!t->is_on)
		return;
	soft_settle(x, t, r);
	t->begin_at = 0;
	if (t->stream.is_on)
		soft_stream_off_at(&t->stream, r->ip);
	t->is_on = false;
	t->function_sp = 0;
	unpin(t);
	soft_mask_show(t);
	soft_disarm(t);
	soft_thread_send(x, t);
}

void soft_window_put_off(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (!soft_is_before(t, r))
		return;
	soft_window_end(x, t, r);
	x->totals.nr_windows--;
	os_ptrace_set_flags(t->tid, r->flags & ~(uint64_t)OS_FLAG_RF);
}

/* A direct call that has just been made is traced, too: it names the function. */
static uint64_t call_site(const struct soft_thread *t, const struct os_regs *r)
{
	uint64_t next = 0;
	uint8_t code[CALL_BYTES];

	if (!r->is_64 || os_task_read(t->tid, r->gpr[REG_SP], &next, 8) != 8 ||
	    os_task_read(t->tid, next - CALL_BYTES, code, CALL_BYTES) != CALL_BYTES ||
	    code[0] != CALL_DIRECT ||
	    next + (uint64_t)(int64_t)(int32_t)load_le32(code + 1) != r->ip)
		return r->ip;
	return next - CALL_BYTES;
}

static void enter_function(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	uint64_t max = x->plan->max_calls;
	struct os_regs from = *r;

	if (t->is_on || (max && x->totals.nr_calls >= max))
		return;
	x->totals.nr_calls++;
	t->function_sp = r->gpr[REG_SP];
	from.ip = call_site(t, r);
	soft_window_begin(x, t, &from);
}

/* By its return, or by what unwinds the stack. */
static bool has_left_function(const struct soft_thread *t, const struct os_regs *r)
{
	uint64_t sp = r->gpr[REG_SP];

	return t->is_on && t->function_sp && sp > t->function_sp && sp - t->function_sp < UNWOUND;
}

static void act(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		const struct soft_trigger *g)
{
	if (g->is_resume && g->place == SOFT_AT_FILE)
		begin_after(x, t, r);
	else if (g->is_resume)
		soft_window_begin(x, t, r);
	else
		soft_window_end(x, t, r);
}

void soft_window_at(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	const struct soft_space *s = t->space;

	if (has_left_function(t, r)) {
		soft_window_end(x, t, r);
		x->is_ending |= x->plan->max_calls && x->totals.nr_calls >= x->plan->max_calls;
	}
	for (uint32_t i = 0; i < s->nr_spots; i++) {
		if (s->spots[i].address != r->ip)
			continue;
		if (s->spots[i].what == SOFT_FUNCTION)
			enter_function(x, t, r);
		else
			act(x, t, r, &x->plan->triggers.data[s->spots[i].what]);
	}
}

void soft_window_call(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		      bool is_exit)
{
	vec_for_each (&x->plan->triggers, g) {
		if (g->place != (is_exit ? SOFT_AT_CALL_EXIT : SOFT_AT_CALL_ENTRY) ||
		    (g->number != SOFT_ANY_CALL && g->number != r->call))
			continue;
		act(x, t, r, g);
	}
}

void soft_window_signal(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
			int signal)
{
	vec_for_each (&x->plan->triggers, g)
		if (g->place == SOFT_AT_SIGNAL && (!g->number || g->number == (uint64_t)signal))
			act(x, t, r, g);
}
