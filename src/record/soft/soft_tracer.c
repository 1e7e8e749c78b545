/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "os/dir.h"
#include "os/proc.h"
#include "record/soft/soft_thread.h"

#define TRAP_BIT (UINT64_C(1) << (SIGTRAP - 1))

enum { SEND_BYTES = 8192, LEAVE_ROUNDS = 600 /* of 5 ms */ };
enum {
	CALL_SIGPROCMASK = 14,
	CALL_SIGRETURN = 15,
	CALL_SIGRETURN_32 = 119,
	CALL_RT_SIGRETURN_32 = 173
};

/* Numbers of the kernel that a program never sees: -ERESTARTSYS to -ERESTARTNOHAND, and
 * -ERESTART_RESTARTBLOCK. Spec: Linux 6.18 include/linux/errno.h. */
static bool is_restarting(const struct os_regs *r)
{
	int64_t v = (int64_t)r->gpr[0];

	if (r->call == CALL_SIGRETURN && r->is_64)
		return false;
	if ((r->call == CALL_SIGRETURN_32 || r->call == CALL_RT_SIGRETURN_32) && !r->is_64)
		return false;
	return v == -512 || v == -513 || v == -514 || v == -516;
}

/* mmap, mprotect, munmap, mremap, shmat, shmdt, remap_file_pages, pkey_mprotect; of 32 bits all are
 * suspected. */
static bool changes_code(const struct os_regs *r)
{
	static const uint16_t calls[] = {9, 10, 11, 25, 30, 67, 216, 329};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (r->call == calls[i])
			return true;
	return !r->is_64;
}

/* rt_sigprocmask, rt_sigreturn; of 32 bits all are suspected. */
static bool changes_mask(const struct os_regs *r)
{
	return r->call == CALL_SIGPROCMASK || r->call == CALL_SIGRETURN || !r->is_64;
}

/* Where a thread is, for the stream: what traps is not executed, though it stands after it. */
static uint64_t place_of(const struct soft_thread *t, const struct os_regs *r)
{
	const struct soft_block *b = &t->step_block;

	return !t->next && b->kind == SOFT_STOP_TRAP && r->ip == b->stop + b->bytes ? b->stop
										    : r->ip;
}

/* The sample of the event that resumed the trace was made after the thread was seen at the call:
 * the trace begins with the sample. */
static void write_first_call(struct soft_tracer *x, struct soft_thread *t)
{
	uint64_t ns = soft_samples_last(x->samples, t->tid);

	if (!t->call_from)
		return;
	soft_stream_on_at(&t->stream, t->call_from, true, ns ? ns + 1 : 0);
	soft_stream_off(&t->stream);
	t->call_from = 0;
}

static void stop_stream(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	write_first_call(x, t);
	soft_settle(x, t, r);
	if (t->stream.is_on)
		soft_stream_off_at(&t->stream, place_of(t, r));
}

static void send_if_full(struct soft_tracer *x, struct soft_thread *t)
{
	if (t->stream.bytes.nr >= SEND_BYTES)
		soft_thread_send(x, t);
}

/* --- system calls --- */

static void enter_call(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	bool was_on;

	soft_confirm(x, t);
	if (t->stream.is_on && t->call_at && r->is_64 && r->ip != t->call_at + 2) {
		x->totals.nr_lost++;
		soft_stream_off_at(&t->stream, r->ip - 2);
	} else if (t->stream.is_on) {
		soft_stream_off(&t->stream);
	}
	was_on = t->is_on;
	t->is_masked = t->hides_trap;
	soft_mask_show(t);
	soft_window_show_cpus(x, t, r);
	t->is_in_call = true;
	t->is_restarting = false;
	soft_window_call(x, t, r, false);
	if (t->is_on && !was_on) /* the call itself is the first instruction that is traced */
		t->call_from = r->ip - 2;
	os_ptrace_go(t->tid, OS_GO_TO_CALL, 0);
}

static void leave_call(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	bool was_on = t->is_on, had_hidden = t->is_masked;

	write_first_call(x, t);
	t->is_in_call = false;
	if (changes_code(r))
		soft_code_forget(&t->space->code);
	soft_window_hide_cpus(x, t, r);
	t->is_restarting = is_restarting(r);
	if (!t->is_restarting)
		soft_window_call(x, t, r, true);
	if (t->is_on && (changes_mask(r) || had_hidden))
		soft_mask_hide(t);
	if (t->is_on && was_on && !t->is_restarting)
		soft_stream_on(&t->stream, r->ip, r->is_64);
	soft_continue(x, t, r, 0);
	send_if_full(x, t);
}

/* --- signals --- */

static void deliver(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		    int number)
{
	soft_window_signal(x, t, r, number);
	if (t->is_on && os_task_handled(t->tid) >> (number - 1) & 1) {
		stop_stream(x, t, r);
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
static void enter_handler(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (t->is_on)
		soft_mask_hide(t);
	if (t->is_on && !t->stream.is_on)
		soft_stream_on(&t->stream, r->ip, r->is_64);
	soft_continue(x, t, r, 0);
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
	soft_continue(x, t, r, 0);
	send_if_full(x, t);
}

static void on_step(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	uint64_t next = t->next;

	if (t->step == SOFT_STEP_SIGNAL) {
		t->step = SOFT_STEP_NONE;
		enter_handler(x, t, r);
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

/* A system call that may resume the trace of a paused thread is over: what its entry and its exit
 * would have done is done now. */
static void after_call(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	if (t->is_on) { /* it stops at its calls anyway */
		soft_settle(x, t, r);
		soft_continue(x, t, r, 0);
		return;
	}
	t->is_in_call = true;
	soft_window_call(x, t, r, false);
	if (t->is_on)
		t->call_from = r->ip - 2;
	leave_call(x, t, r);
}

static void on_signal(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		      int number)
{
	switch (number == SIGTRAP ? os_ptrace_trap(t->tid, t->space->code.pid) : OS_TRAP_OTHER) {
	case OS_TRAP_BREAKPOINT:
		arrive(x, t, r);
		break;
	case OS_TRAP_EVENT:
		after_call(x, t, r);
		break;
	case OS_TRAP_STEP:
	case OS_TRAP_HANDLER:
		on_step(x, t, r);
		break;
	case OS_TRAP_SELF:
		if (t->step != SOFT_STEP_NONE && t->step != SOFT_STEP_SIGNAL)
			on_step(x, t, r);
		else
			deliver(x, t, r, number);
		break;
	case OS_TRAP_OTHER:
		deliver(x, t, r, number);
		break;
	}
}

/* --- threads and processes --- */

static void begin(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	/* Attached to in a system call that begins again: traced from its end on. */
	bool is_in_call = (int64_t)r->call >= 0 && is_restarting(r);

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

	return trap == OS_TRAP_OTHER || (trap == OS_TRAP_SELF && t->step == SOFT_STEP_NONE);
}

static void leave(struct soft_tracer *x, struct soft_thread *t, const struct os_stop *s)
{
	struct os_regs r;
	int signal = 0;

	if (!os_ptrace_regs(t->tid, &r)) {
		stop_stream(x, t, &r);
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
	if (os_ptrace_regs(s->tid, &r))
		return; /* killed meanwhile: its end will be reported */
	if (t->is_before_exec && s->kind != OS_STOP_EXEC) {
		os_ptrace_go(t->tid, OS_GO_ON, s->kind == OS_STOP_SIGNAL ? (int)s->code : 0);
		return;
	}
	switch (s->kind) {
	case OS_STOP_SIGNAL:
		on_signal(x, t, &r, (int)s->code);
		break;
	case OS_STOP_CALL:
		if (s->code == 1)
			enter_call(x, t, &r);
		else
			leave_call(x, t, &r);
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
		stop_stream(x, t, &r);
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

static int seize_all(struct soft_tracer *x, const struct soft_target *t)
{
	size_t nr_tids = t->tids ? t->tids->nr : 0, nr_pids = t->pids ? t->pids->nr : 0;
	int err = t->child ? seize(x, t->child, true) : 0;

	for (size_t i = 0; i < nr_tids && !err; i++) {
		err = seize(x, t->tids->data[i], false);
		if (err == -ESRCH && nr_tids > 1)
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
