/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "os/dir.h"
#include "os/proc.h"
#include "record/soft/soft_thread.h"

#define TRAP_BIT (UINT64_C(1) << (SIGTRAP - 1))

enum { LEAVE_ROUNDS = 600 /* of 5 ms */, INT3 = 0xcc };

/* --- signals --- */

static void deliver(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		    int number)
{
	soft_window_put_off(x, t, r);
	soft_window_signal(x, t, r, number);
	if (t->is_on && os_task_handled(t->tid) >> (number - 1) & 1) {
		soft_stop_stream(x, t, r);
		soft_mask_show(t);
		t->step = SOFT_STEP_SIGNAL;
		t->is_restarting = false;
		t->next = 0;
		os_ptrace_go(t->tid, OS_GO_STEP, number);
		return;
	}
	soft_settle(x, t, r);
	soft_continue(x, t, r, number);
}

/* A handler runs; or there was none after all, and an instruction was executed instead. */
static void enter_handler(struct soft_thread *t, const struct os_regs *r)
{
	t->step = SOFT_STEP_NONE;
	if (t->is_on)
		soft_mask_hide(t);
	if (t->is_on && !t->stream.is_on)
		soft_stream_on(&t->stream, r->ip, r->is_64);
}

static void interrupt_others(struct soft_tracer *x, const struct soft_thread *t)
{
	vec_for_each (&x->threads, o)
		if (*o != t && (*o)->space == t->space)
			os_ptrace_interrupt((*o)->tid);
}

/* The thread has come to a place where it was to stop, or to one where it once was. */
static void arrive(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	uint32_t epoch = t->space->epoch;

	if (r->ip == t->space->watch) {
		soft_spots_find(x, t->space);
		if (t->space->epoch != epoch)
			interrupt_others(x, t);
	}
	soft_confirm(x, t);
	soft_window_at(x, t, r);
	if (t->is_on && t->stream.is_on)
		soft_stream_at(&t->stream, r->ip);
	t->has_arrived = true;
	soft_continue(x, t, r, 0);
	t->has_arrived = false;
	soft_send_if_full(x, t);
}

static void on_step(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	uint64_t next = t->next;

	if (t->step == SOFT_STEP_SIGNAL) {
		enter_handler(t, r);
		soft_continue(x, t, r, 0);
		return;
	}
	if (t->step == SOFT_STEP_TO && r->ip != next) {
		soft_settle(x, t, r);
		t->step = SOFT_STEP_TO;
		os_ptrace_go(t->tid, OS_GO_STEP, 0);
		return;
	}
	soft_stepped(x, t, r);
	arrive(x, t, r);
}

/* A step over the INT3 of a uprobe looks as if the program had sent it to itself. */
static bool is_at_probe(const struct soft_thread *t)
{
	uint8_t code = 0;

	return os_task_read(t->tid, t->from, &code, 1) == 1 && code == INT3;
}

/* Has OS_GO_STEP run an instruction? */
static bool was_stepped(const struct soft_thread *t, enum os_trap trap)
{
	if (trap == OS_TRAP_STEP)
		return t->step != SOFT_STEP_NONE || t->has_stray_flag;
	return trap == OS_TRAP_SELF && t->step != SOFT_STEP_NONE && t->step != SOFT_STEP_SIGNAL &&
	       is_at_probe(t);
}

/* A step of the program has come to a breakpoint: one stop for both, of which it gets the signal.
 * The breakpoint is hit again when the handler is over. */
static void take_own_step(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	struct os_regs now = *r;

	if (r->flags & OS_FLAG_RF && r->ip != t->from && soft_is_armed(t, r->ip)) {
		now.flags &= ~(uint64_t)OS_FLAG_RF;
		os_ptrace_set_flags(t->tid, now.flags);
	}
	deliver(x, t, &now, SIGTRAP);
}

/* The program stepped this instruction, too; its own stop comes first. */
static void step_for_both(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (t->step == SOFT_STEP_SIGNAL)
		enter_handler(t, r);
	else
		soft_stepped(x, t, r);
	take_own_step(x, t, r);
}

static void on_trap_signal(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	enum os_trap trap = os_ptrace_trap(t->tid, t->space->code.pid);

	switch (trap) {
	case OS_TRAP_BREAKPOINT:
		arrive(x, t, r);
		break;
	case OS_TRAP_EVENT:
		soft_call_over(x, t, r);
		break;
	case OS_TRAP_HANDLER:
		on_step(x, t, r);
		break;
	case OS_TRAP_STEP:
	case OS_TRAP_SELF:
	case OS_TRAP_OTHER:
		if (!was_stepped(t, trap))
			take_own_step(x, t, r);
		else if (t->did_so)
			step_for_both(x, t, r);
		else
			on_step(x, t, r);
		break;
	}
}

/* --- threads and processes --- */

static void begin(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	/* Attached to in a system call that begins again: traced from its end on. */
	bool is_in_call = (int64_t)r->call >= 0 && soft_call_restarts(r);

	soft_spots_find(x, t->space);
	soft_watch_begin(x, t);
	if (t->is_on) {
		t->is_on = false;
		t->is_in_call = is_in_call;
		soft_window_begin(x, t, r);
		t->is_in_call = false;
	}
	t->is_restarting = is_in_call;
	soft_continue(x, t, r, 0);
}

/* Until its parent says so it is unknown whether it is traced. */
static void take_new(struct soft_tracer *x, int tid)
{
	struct soft_thread *t = soft_thread_add(x, tid, os_task_process(tid));

	if (!t) {
		os_ptrace_detach(tid, 0);
		return;
	}
	t->is_held = true;
}

static void on_fork(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r, int tid)
{
	struct soft_thread *n = soft_thread_find(x, tid);
	bool was_held = n;
	struct os_regs of_new;

	if (!n)
		n = soft_thread_add(x, tid, os_task_process(tid));
	if (n) {
		n->has_begun = n->is_held;
		n->is_held = false;
		n->is_on = t->is_on;
		n->is_pinned = t->is_pinned;
		n->cpus = t->cpus;
		if (was_held && !os_ptrace_regs(tid, &of_new))
			begin(x, n, &of_new);
	}
	if (t->is_on || t->stops_at_calls)
		os_ptrace_go(t->tid, OS_GO_TO_CALL, 0);
	else
		os_ptrace_go(t->tid, OS_GO_ON, 0);
	(void)r;
}

/* All other threads of the process are gone; the one that is left has the id of the first. */
static void on_exec(struct soft_tracer *x, struct soft_thread *t, int former_tid)
{
	struct soft_thread *former = former_tid == t->tid ? NULL : soft_thread_find(x, former_tid);

	if (former) {
		t->is_on = former->is_on;
		t->is_pinned = former->is_pinned;
		t->cpus = former->cpus;
		soft_thread_remove(x, former);
	}
	t->has_begun = true;
	if (t->is_before_exec)
		t->is_on = !x->plan->starts_paused;
	t->is_before_exec = false;
	soft_thread_exec(x, t);
	if (!t->space) {
		os_ptrace_detach(t->tid, 0);
		soft_thread_remove(x, t);
		return;
	}
	t->pending.is_there = false;
	t->is_in_call = true;
	t->next = t->function_sp = 0;
	soft_spots_find(x, t->space);
	if (t->is_on && !t->is_pinned) {
		t->is_on = false;
		soft_window_begin(x, t, &(struct os_regs){0});
	}
	soft_watch_begin(x, t);
	if (t->is_on || t->stops_at_calls) {
		os_ptrace_go(t->tid, OS_GO_TO_CALL, 0);
	} else {
		t->is_in_call = false;
		soft_disarm(t);
		os_ptrace_go(t->tid, OS_GO_ON, 0);
	}
}

static void on_trap(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	bool is_new = !t->has_begun;

	if (t->is_held)
		return;
	t->has_begun = true;
	soft_settle(x, t, r);
	if (is_new)
		begin(x, t, r);
	else
		soft_continue(x, t, r, 0);
}

/* --- the end --- */

static bool is_of_program(const struct soft_thread *t)
{
	enum os_trap trap = os_ptrace_trap(t->tid, t->space->code.pid);

	return trap == OS_TRAP_OTHER || ((trap == OS_TRAP_STEP || trap == OS_TRAP_SELF) &&
					 (!was_stepped(t, trap) || t->did_so));
}

static bool look(struct soft_thread *t, struct os_regs *ret)
{
	if (os_ptrace_regs(t->tid, ret))
		return false;
	t->from = t->at;
	t->at = ret->ip;
	t->did_so = t->steps_itself;
	/* After a step over POPF Linux takes its own TF for the program's. */
	if (t->step != SOFT_STEP_NONE && t->step != SOFT_STEP_SIGNAL && ret->flags & OS_FLAG_TF)
		t->has_stray_flag |= !t->steps_itself;
	t->steps_itself = ret->flags & OS_FLAG_TF && !t->has_stray_flag;
	return true;
}

static void leave(struct soft_tracer *x, struct soft_thread *t, const struct os_stop *s)
{
	struct os_regs r;
	int signal = 0;

	if (look(t, &r)) {
		soft_stop_stream(x, t, &r);
		if (s->kind == OS_STOP_SIGNAL && (s->code != SIGTRAP || is_of_program(t)))
			signal = (int)s->code;
	}
	soft_mask_show(t);
	soft_clear(t);
	soft_watch_end(t);
	if (os_task_pending(t->tid) & TRAP_BIT) { /* ours: it would kill the program */
		soft_mask_hide(t);
		os_ptrace_go(t->tid, OS_GO_ON, signal);
		return;
	}
	if (t->is_pinned)
		os_task_set_cpus(t->tid, &t->cpus);
	os_ptrace_detach(t->tid, signal);
	soft_thread_remove(x, t);
}

static void leave_held(struct soft_tracer *x)
{
	for (size_t i = x->threads.nr; i-- > 0;)
		if (x->threads.data[i]->is_held)
			leave(x, x->threads.data[i], &(struct os_stop){.kind = OS_STOP_TRAP});
}

static void leave_all(struct soft_tracer *x)
{
	leave_held(x);
	vec_for_each (&x->threads, t)
		os_ptrace_interrupt((*t)->tid);
}

/* --- the loop --- */

static void on_stop(struct soft_tracer *x, const struct os_stop *s)
{
	struct soft_thread *t = soft_thread_find(x, s->tid);
	struct os_regs r;

	x->totals.nr_stops++;
	if (s->kind == OS_STOP_GONE) {
		if (t)
			soft_thread_remove(x, t);
		return;
	}
	if (!t) {
		take_new(x, s->tid);
		t = x->is_ending ? soft_thread_find(x, s->tid) : NULL;
		if (!t)
			return;
	}
	if (s->kind == OS_STOP_GROUP && !x->is_ending) {
		os_ptrace_go(s->tid, OS_GO_LISTEN, 0);
		return;
	}
	if (x->is_ending) {
		leave(x, t, s);
		return;
	}
	if (!look(t, &r))
		return; /* killed meanwhile: its end will be reported */
	if (t->is_before_exec && s->kind != OS_STOP_EXEC) {
		os_ptrace_go(t->tid, OS_GO_ON, s->kind == OS_STOP_SIGNAL ? (int)s->code : 0);
		return;
	}
	switch (s->kind) {
	case OS_STOP_SIGNAL:
		if (s->code == SIGTRAP)
			on_trap_signal(x, t, &r);
		else
			deliver(x, t, &r, (int)s->code);
		break;
	case OS_STOP_CALL:
		if (s->code == 1)
			soft_call_enter(x, t, &r);
		else
			soft_call_leave(x, t, &r);
		break;
	case OS_STOP_TRAP:
		on_trap(x, t, &r);
		break;
	case OS_STOP_FORK:
		on_fork(x, t, &r, (int)s->code);
		break;
	case OS_STOP_EXEC:
		on_exec(x, t, (int)s->code);
		break;
	case OS_STOP_EXITING:
		soft_stop_stream(x, t, &r);
		os_ptrace_go(t->tid, OS_GO_ON, 0);
		break;
	case OS_STOP_GROUP:
	case OS_STOP_GONE:
		break;
	}
}

static void loop(struct soft_tracer *x)
{
	unsigned int rounds = 0;
	bool was_ending = false;
	struct os_stop s;
	int err;

	while (rounds < LEAVE_ROUNDS) {
		x->is_ending |= os_process_must_end();
		if (x->is_ending && !was_ending) {
			was_ending = true;
			leave_all(x);
		}
		if (os_ptrace_wait(true, &s, &err))
			on_stop(x, &s);
		else if (err != -EINTR)
			break;
		else
			rounds += x->is_ending;
	}
	x->totals.nr_left = x->threads.nr;
}

static int seize(struct soft_tracer *x, int tid, bool is_before_exec)
{
	int err = os_ptrace_seize(tid);
	struct soft_thread *t;

	if (err)
		return err;
	t = soft_thread_add(x, tid, os_task_process(tid));
	if (!t)
		return -ENOMEM;
	t->is_before_exec = is_before_exec;
	t->is_on = !is_before_exec && !x->plan->starts_paused;
	return is_before_exec ? 0 : os_ptrace_interrupt(tid);
}

/* Threads that were made since the list was read, until there are none. */
static void seize_new(struct soft_tracer *x, int pid)
{
	char path[64];
	bool has_new = true;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	while (has_new) {
		struct os_dir *d = os_dir_open(path, NULL);
		int tid;

		has_new = false;
		while (d && (tid = os_dir_next_number(d)) >= 0)
			if (!soft_thread_find(x, tid))
				has_new |= !seize(x, tid, false);
		os_dir_close(d);
	}
}

/* A process's first thread remains as long as others run. */
static bool has_ended(int tid)
{
	return os_proc_living((uint32_t)tid) != (uint32_t)tid;
}

static int seize_all(struct soft_tracer *x, const struct soft_target *t)
{
	size_t nr_tids = t->tids ? t->tids->nr : 0, nr_pids = t->pids ? t->pids->nr : 0;
	int err = t->child ? seize(x, t->child, true) : 0;

	for (size_t i = 0; i < nr_tids && !err; i++) {
		err = seize(x, t->tids->data[i], false);
		if (err && nr_tids > 1 && (err == -ESRCH || has_ended(t->tids->data[i])))
			err = 0;
	}
	for (size_t i = 0; i < nr_pids && !err; i++)
		seize_new(x, t->pids->data[i]);
	return err;
}

int soft_trace(const struct soft_plan *plan, struct soft_samples *samples, int fd,
	       const struct soft_target *target)
{
	struct soft_tracer x = {.plan = plan, .samples = samples, .fd = fd, .cpu = os_this_cpu()};
	struct soft_header h = {.kind = SOFT_READY};
	struct os_cpu_set one;
	int err;

	os_cpu_set_one(&one, x.cpu);
	os_task_set_cpus(0, &one);
	err = seize_all(&x, target);
	h.number = (uint64_t)-err;
	soft_send(&x, &h, NULL);
	x.is_ending |= err != 0;
	loop(&x);
	h = (struct soft_header){.kind = SOFT_TOTALS, .size = sizeof(x.totals)};
	soft_send(&x, &h, &x.totals);
	return x.totals.nr_left != 0;
}
