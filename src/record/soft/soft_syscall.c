/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_thread.h"

/* System calls: where a stream of user mode ends, and begins again. */

enum { SEND_BYTES = 8192 };
enum {
	CALL_SIGPROCMASK = 14,
	CALL_SIGRETURN = 15,
	CALL_SIGRETURN_32 = 119,
	CALL_RT_SIGRETURN_32 = 173
};

/* Numbers of the kernel that a program never sees: -ERESTARTSYS to -ERESTARTNOHAND, and
 * -ERESTART_RESTARTBLOCK. Spec: Linux 6.18 include/linux/errno.h. */
bool soft_call_restarts(const struct os_regs *r)
{
	int64_t v = r->is_64 ? (int64_t)r->gpr[0] : (int32_t)r->gpr[0];

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

void soft_stop_stream(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	write_first_call(x, t);
	soft_settle(x, t, r);
	if (t->stream.is_on)
		soft_stream_off_at(&t->stream, place_of(t, r));
}

void soft_send_if_full(struct soft_tracer *x, struct soft_thread *t)
{
	if (t->stream.bytes.nr >= SEND_BYTES)
		soft_thread_send(x, t);
}

void soft_call_enter(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
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

void soft_call_leave(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
{
	bool was_on = t->is_on, had_hidden = t->is_masked;

	write_first_call(x, t);
	t->is_in_call = false;
	if (changes_code(r))
		soft_code_forget(&t->space->code);
	soft_window_hide_cpus(x, t, r);
	t->is_restarting = soft_call_restarts(r);
	if (!t->is_restarting)
		soft_window_call(x, t, r, true);
	if (t->is_on && (changes_mask(r) || had_hidden))
		soft_mask_hide(t);
	if (t->is_on && was_on && !t->is_restarting)
		soft_stream_on(&t->stream, r->ip, r->is_64);
	soft_continue(x, t, r, 0);
	soft_send_if_full(x, t);
}

void soft_call_over(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r)
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
	soft_call_leave(x, t, r);
}
