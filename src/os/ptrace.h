/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PTRACE_H
#define OS_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stopping other threads: ptrace(2) of x86-64. All calls come from the thread that seized. Each int
 * is 0 or -errno; -ESRCH: the thread is gone, or runs.
 */

/** false: not built for x86-64; all else then fails with -ENOSYS. */
bool os_ptrace_is_possible(void);

/** User registers; gpr in the order of the instruction set: ax, cx, dx, bx, sp, bp, si, di, r8...
 */
struct os_regs {
	uint64_t gpr[16];
	uint64_t ip, flags, fs_base, gs_base;
	uint64_t call; /* number of the system call that the thread is in */
	bool is_64;    /* the code segment is of 64 bits */
};

enum {
	OS_FLAG_TF = 1 << 8,  /* of flags: the program steps itself */
	OS_FLAG_RF = 1 << 16, /* of flags: the next instruction hits no breakpoint */
	OS_NR_BREAKPOINTS = 4,
};

enum os_stop_kind {
	OS_STOP_GONE,   /* ended: code is its wait status */
	OS_STOP_SIGNAL, /* before delivery of the signal code */
	OS_STOP_CALL,   /* at a system call's entry (code 1) or exit (code 2) */
	OS_STOP_GROUP,  /* all of the process stands still after the signal code */
	OS_STOP_TRAP,   /* first stop of a new thread, os_ptrace_interrupt(), or the end of GROUP */
	OS_STOP_FORK,   /* clone, fork, vfork: code is the new thread */
	OS_STOP_EXEC,   /* code is the thread's former id */
	OS_STOP_EXITING, /* about to end; registers can still be read */
};

struct os_stop {
	enum os_stop_kind kind;
	int tid;
	long code;
};

/** attr.sig_data of our perf events with attr.sigtrap. */
#define OS_TRAP_DATA UINT64_C(0x636c657720736f66)

enum os_go { OS_GO_ON, OS_GO_TO_CALL, OS_GO_STEP, OS_GO_LISTEN };

/** Of a signal that is about to be delivered: why. */
enum os_trap {
	OS_TRAP_OTHER,      /* of the program */
	OS_TRAP_SELF,       /* sent by the program to itself; of a step over a uprobe as well */
	OS_TRAP_BREAKPOINT, /* of os_ptrace_breakpoint() */
	OS_TRAP_STEP,       /* OS_GO_STEP, or OS_FLAG_TF, has run an instruction */
	OS_TRAP_EVENT,      /* of a perf event with attr.sigtrap and OS_TRAP_DATA */
	OS_TRAP_HANDLER,    /* OS_GO_STEP has entered a signal handler */
};

/** New threads and children are then seized, too. It continues to run. */
int os_ptrace_seize(int tid);
int os_ptrace_interrupt(int tid);
int os_ptrace_go(int tid, enum os_go how, int signal);
int os_ptrace_detach(int tid, int signal);
int os_ptrace_regs(int tid, struct os_regs *ret);
int os_ptrace_set_flags(int tid, uint64_t flags);
/** @p pid: the process of thread @p tid. */
enum os_trap os_ptrace_trap(int tid, int pid);

/** The signals that a stopped thread blocks: a bit each, from 0 on for signal 1. */
int os_ptrace_mask(int tid, uint64_t *ret);
int os_ptrace_set_mask(int tid, uint64_t mask);

/** Breakpoint @p slot at @p address; the first time, or after it was off, it has to be switched on.
 * -ENOSPC: the machine has no more. */
int os_ptrace_breakpoint(int tid, unsigned int slot, uint64_t address);

/** Which of the breakpoints are on: a bit each. */
int os_ptrace_switch(int tid, unsigned int slots);

/**
 * The next stop of a seized thread, or the end of a child. @p is_blocking: wait.
 * @return false: none; @p ret_err: -EINTR: a signal came, -ECHILD: there is none to wait for.
 */
bool os_ptrace_wait(bool is_blocking, struct os_stop *ret, int *ret_err);

/** Bytes of a process's memory, up to the first that cannot be read. @return how many. */
size_t os_task_read(int pid, uint64_t address, void *ret, size_t size);

/** Where it is executed; set only, and all threads if that is our own. */
struct os_cpu_set {
	uint64_t bits[16];
};
int os_task_cpus(int tid, struct os_cpu_set *ret);
int os_task_set_cpus(int tid, const struct os_cpu_set *set);
void os_cpu_set_one(struct os_cpu_set *ret, unsigned int cpu);
unsigned int os_this_cpu(void);

/**
 * Fork a process that runs @p run and ends with what that returns. It outlives us: when we die it
 * gets SIGTERM, as from os_process_end(). Signals from a terminal do not reach it. @return its pid
 * or -errno.
 */
int os_process_start(int (*run)(void *ctx), void *ctx);

/** In that process: has it been asked to end? os_ptrace_wait() then fails with -EINTR, again and
 * again. */
bool os_process_must_end(void);
void os_process_end(int pid);
/** Wait for it. @return its exit code; 128 + the signal's number. */
int os_process_join(int pid);

/** A pipe; the read end does not block. */
int os_pipe(int *ret_read, int *ret_write);

/** Signals that process @p pid has handlers for, a bit each from 1 on. */
uint64_t os_task_handled(int pid);
/** Signals that wait for thread @p tid alone. */
uint64_t os_task_pending(int tid);
/** The process of a thread; 0: gone. */
int os_task_process(int tid);

#endif
