/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_THREAD_H
#define RECORD_SOFT_SOFT_THREAD_H

#include "os/ptrace.h"
#include "record/soft/soft_code.h"
#include "record/soft/soft_plan.h"
#include "record/soft/soft_samples.h"
#include "record/soft/soft_stream.h"
#include "record/soft/soft_wire.h"

/*
 * The process that traces: its threads and their address spaces. A thread that is stopped is either
 * known to be at an address, up to which its stream has everything, or it has a branch pending: it
 * was released at one, of which the outcome is known and not yet written, as a signal may come
 * before it.
 */

enum { SOFT_FUNCTION = UINT16_MAX };

/** What happens at an address. */
struct soft_spot {
	uint64_t address;
	uint32_t what; /* number of the trigger, SOFT_FUNCTION */
};

struct soft_space {
	struct soft_code code;
	uint32_t nr_users;
	struct soft_spot spots[OS_NR_BREAKPOINTS];
	uint32_t nr_spots;
	uint64_t watch;   /* where the dynamic linker says that mappings have changed; 0: nowhere */
	bool is_complete; /* all that is asked for was found */
	uint32_t epoch;   /* of spots and watch */
};

/** Of a branch at which the thread was released. */
struct soft_pending {
	bool is_there;
	bool is_conditional, is_taken;
	uint64_t at, target;
};

enum soft_step {
	SOFT_STEP_NONE,
	SOFT_STEP_TO,     /* to next, as there is no breakpoint for it */
	SOFT_STEP_BRANCH, /* over a branch, to see where it goes */
	SOFT_STEP_FAR,    /* over anything else */
	SOFT_STEP_SIGNAL, /* into a signal handler */
};

struct soft_thread {
	int tid;
	struct soft_space *space;
	struct soft_stream stream;
	bool is_on;          /* to be traced */
	bool is_before_exec; /* still ours, between fork and exec */
	bool is_held;        /* stopped until it is known which thread is its parent */
	bool stops_at_calls; /* also while it is paused: one may resume it */
	struct {
		VEC(int);
	} events;           /* that raise SIGTRAP at such a call */
	bool has_begun;     /* it was seen stopped */
	bool is_in_call;    /* between a system call's entry and its exit */
	bool is_restarting; /* a signal came into a system call, which may begin again */
	struct soft_pending pending;
	uint64_t at, from;         /* where it stands; where it stood when it was released */
	bool has_arrived;          /* what is asked for where it stands was done */
	bool has_stray_flag;       /* TF may be left from steps of ours, over POPF */
	bool steps_itself, did_so; /* the program has set TF; it had when it was released */
	uint64_t next;             /* where it is to stop next; 0: nowhere */
	uint64_t call_at;          /* where it is to make its next system call; 0: unknown */
	enum soft_step step;
	struct soft_block step_block;
	uint64_t begin_at;    /* the stream begins here, once the next stop is reached; 0: no */
	uint64_t call_from;   /* the same, when the system call is over; 0: no */
	uint64_t function_sp; /* of the function's entry; 0: not in it */

	uint64_t slots[OS_NR_BREAKPOINTS];
	uint8_t slots_on;  /* a bit each */
	uint8_t nr_fixed;  /* of the space: spots, watch */
	uint8_t nr_usable; /* others may have some */
	uint8_t next_slot;
	uint32_t epoch; /* of the space's when slots were set */

	bool is_masked;  /* it did when it made its system call */
	bool hides_trap; /* it blocks SIGTRAP, but for while we run it */
	bool is_pinned;
	struct os_cpu_set cpus; /* its own */
};

struct soft_tracer {
	const struct soft_plan *plan;
	struct soft_samples *samples; /* NULL: none */
	int fd;                       /* of the pipe to the recorder */
	struct {
		VEC(struct soft_thread *);
	} threads;
	struct map_u64 by_tid; /* -> index */
	struct soft_totals totals;
	uint32_t nr_streams;
	bool is_ending; /* let all go */
	bool is_deaf;   /* the recorder is gone */
	unsigned int cpu;
};

struct soft_thread *soft_thread_find(const struct soft_tracer *x, int tid);
/** A thread of process @p pid. NULL: out of memory. */
struct soft_thread *soft_thread_add(struct soft_tracer *x, int tid, int pid);
void soft_thread_remove(struct soft_tracer *x, struct soft_thread *t);
/** It has a new address space. */
void soft_thread_exec(struct soft_tracer *x, struct soft_thread *t);

/** Does another thread share its memory? */
static inline bool soft_thread_shares(const struct soft_thread *t)
{
	return t->space->nr_users > 1;
}

/** Send what its stream has. */
void soft_thread_send(struct soft_tracer *x, struct soft_thread *t);
void soft_send(struct soft_tracer *x, const struct soft_header *h, const void *data);

/* --- soft_mask.c --- */

/** The thread runs in user mode, perhaps with another signal mask than before. */
void soft_mask_hide(struct soft_thread *t);
/** The kernel is about to use its mask, or it is no longer traced. */
void soft_mask_show(struct soft_thread *t);

/* --- soft_watch.c --- */

/** See the system calls that resume the trace, in this thread's program. */
void soft_watch_begin(struct soft_tracer *x, struct soft_thread *t);
void soft_watch_end(struct soft_thread *t);

/** The instruction that the window begins with has not been executed. */
static inline bool soft_is_before(const struct soft_thread *t, const struct os_regs *r)
{
	return t->begin_at && r->ip == t->begin_at && r->flags & OS_FLAG_RF;
}

/* --- soft_slots.c --- */

/** Stop at @p address, besides the space's spots. @return false: there is no breakpoint for it. */
bool soft_arm(struct soft_thread *t, uint64_t address);
/** The space's spots alone. */
void soft_disarm(struct soft_thread *t);
/** None; also none of the space. */
void soft_clear(struct soft_thread *t);
/** Is there a breakpoint at @p address? */
bool soft_is_armed(const struct soft_thread *t, uint64_t address);
/** One of the space's? */
bool soft_is_spot(const struct soft_thread *t, uint64_t address);

/* --- soft_step.c --- */

/** The pending branch was executed: write it. */
void soft_confirm(struct soft_tracer *x, struct soft_thread *t);
/** It was, unless the thread still stands at it; so is the window that begins with it. */
void soft_settle(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** Let a stopped thread continue from @p r, whatever it was doing. */
void soft_continue(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		   int signal);
/** It was stepped. */
void soft_stepped(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);

/* --- soft_syscall.c --- */

/** Will the call begin again, as a signal came into it? */
bool soft_call_restarts(const struct os_regs *r);
/** The thread is at the entry or the exit of a system call. */
void soft_call_enter(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
void soft_call_leave(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** One that may resume the trace of a paused thread is over: what its entry and its exit would have
 * done is done now. */
void soft_call_over(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** Write what a stopped thread has executed; its stream ends there. */
void soft_stop_stream(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
void soft_send_if_full(struct soft_tracer *x, struct soft_thread *t);

/* --- soft_window.c --- */

/** Trace from @p ip on, or no longer. */
void soft_window_begin(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
void soft_window_end(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** A signal comes before the instruction that a window is to begin with: its probe has not been hit
 * and will be once the handler is over. */
void soft_window_put_off(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** Around a system call that may see the CPUs of a thread, or set them. */
void soft_window_show_cpus(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
void soft_window_hide_cpus(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** The thread has come to @p r: do what is asked for there. */
void soft_window_at(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r);
/** The same of a system call and a signal. */
void soft_window_call(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
		      bool is_exit);
void soft_window_signal(struct soft_tracer *x, struct soft_thread *t, const struct os_regs *r,
			int signal);

/* --- soft_spots.c --- */

/** Look for what is asked for in what is mapped. */
void soft_spots_find(struct soft_tracer *x, struct soft_space *s);

/* --- soft_tracer.c --- */

/** Threads to begin with; all others are made by them. */
struct soft_target {
	int child;                   /* waits for its exec; 0: none */
	const struct rec_ints *tids; /* run; NULL: none */
	const struct rec_ints *pids; /* of which all threads are wanted; NULL: none */
};

/** Trace until all threads have ended or os_process_must_end(). @return an exit code. */
int soft_trace(const struct soft_plan *plan, struct soft_samples *samples, int fd,
	       const struct soft_target *target);

#endif
