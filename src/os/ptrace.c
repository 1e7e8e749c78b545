/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/ptrace.h"

#include <errno.h>

#ifdef __x86_64__
# include <signal.h>
# include <string.h>
# include <sys/ptrace.h>
# include <sys/uio.h>
# include <sys/user.h>
# include <sys/wait.h>

# include "os/proc.h"

/* Spec: ptrace(2); Linux 6.18 arch/x86/kernel/ptrace.c. */

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		  PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT,
	CODE_64 = 0x33,         /* __USER_CS */
	CODE_PERF = 6,          /* TRAP_PERF */
	CODE_SIGTRAP = SIGTRAP, /* ptrace_notify() after a handler's frame is made */
};

bool os_ptrace_is_possible(void)
{
	return true;
}

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

int os_ptrace_seize(int tid)
{
	return result(ptrace(PTRACE_SEIZE, tid, NULL, (void *)OPTIONS));
}

int os_ptrace_interrupt(int tid)
{
	return result(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL));
}

int os_ptrace_go(int tid, enum os_go how, int signal)
{
	static const enum __ptrace_request requests[] = {
		[OS_GO_ON] = PTRACE_CONT,
		[OS_GO_TO_CALL] = PTRACE_SYSCALL,
		[OS_GO_STEP] = PTRACE_SINGLESTEP,
		[OS_GO_LISTEN] = PTRACE_LISTEN,
	};

	return result(ptrace(requests[how], tid, NULL, (void *)(long)signal));
}

int os_ptrace_detach(int tid, int signal)
{
	return result(ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal));
}

int os_ptrace_regs(int tid, struct os_regs *ret)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &u) < 0)
		return -errno;
	*ret = (struct os_regs){
		.gpr = {u.rax, u.rcx, u.rdx, u.rbx, u.rsp, u.rbp, u.rsi, u.rdi, u.r8, u.r9, u.r10,
			u.r11, u.r12, u.r13, u.r14, u.r15},
		.ip = u.rip,
		.flags = u.eflags,
		.fs_base = u.fs_base,
		.gs_base = u.gs_base,
		.call = u.orig_rax,
		.is_64 = u.cs == CODE_64,
	};
	return 0;
}

static int poke(int tid, size_t offset, uint64_t value)
{
	return result(ptrace(PTRACE_POKEUSER, tid, (void *)offset, (void *)value));
}

int os_ptrace_set_flags(int tid, uint64_t flags)
{
	return poke(tid, offsetof(struct user, regs.eflags), flags);
}

/** si_perf_data, which older headers do not have: after si_addr. */
static bool is_our_event(const siginfo_t *info)
{
	uint64_t data;

	memcpy(&data, (const char *)&info->si_addr + sizeof(info->si_addr), sizeof(data));
	return data == OS_TRAP_DATA;
}

enum os_trap os_ptrace_trap(int tid, int pid)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0 || info.si_signo != SIGTRAP)
		return OS_TRAP_OTHER;
	switch (info.si_code) {
	case TRAP_HWBKPT:
		return OS_TRAP_BREAKPOINT;
	case TRAP_TRACE:
		return OS_TRAP_STEP;
	case CODE_PERF:
		return is_our_event(&info) ? OS_TRAP_EVENT : OS_TRAP_OTHER;
	case CODE_SIGTRAP:
		return OS_TRAP_HANDLER;
	case SI_USER:
		return info.si_pid == pid ? OS_TRAP_SELF : OS_TRAP_OTHER;
	default:
		return OS_TRAP_OTHER;
	}
}

int os_ptrace_mask(int tid, uint64_t *ret)
{
	return result(ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(*ret), ret));
}

int os_ptrace_set_mask(int tid, uint64_t mask)
{
	return result(ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(mask), &mask));
}

int os_ptrace_breakpoint(int tid, unsigned int slot, uint64_t address)
{
	return poke(tid, offsetof(struct user, u_debugreg) + slot * sizeof(long), address);
}

int os_ptrace_switch(int tid, unsigned int slots)
{
	uint64_t dr7 = 0;

	for (unsigned int i = 0; i < OS_NR_BREAKPOINTS; i++) /* of one byte, when executed */
		dr7 |= (uint64_t)(slots >> i & 1) << 2 * i;
	return poke(tid, offsetof(struct user, u_debugreg) + 7 * sizeof(long), dr7);
}

static long message(int tid)
{
	unsigned long v = 0;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &v);
	return (long)v;
}

static bool is_group_stop(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void take_event(int event, int signal, struct os_stop *ret)
{
	switch (event) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		ret->kind = OS_STOP_FORK;
		ret->code = message(ret->tid);
		break;
	case PTRACE_EVENT_EXEC:
		ret->kind = OS_STOP_EXEC;
		ret->code = message(ret->tid);
		break;
	case PTRACE_EVENT_EXIT:
		ret->kind = OS_STOP_EXITING;
		break;
	default:
		ret->kind = is_group_stop(signal) ? OS_STOP_GROUP : OS_STOP_TRAP;
		ret->code = signal;
		break;
	}
}

bool os_ptrace_wait(bool is_blocking, struct os_stop *ret, int *ret_err)
{
	int status, tid = waitpid(-1, &status, __WALL | (is_blocking ? 0 : WNOHANG));
	int signal;

	*ret_err = tid < 0 ? -errno : 0;
	if (tid <= 0)
		return false;
	*ret = (struct os_stop){.tid = tid, .kind = OS_STOP_GONE, .code = status};
	if (!WIFSTOPPED(status))
		return true;
	signal = WSTOPSIG(status);
	if (status >> 16) {
		take_event(status >> 16, signal, ret);
	} else if (signal == (SIGTRAP | 0x80)) {
		ret->kind = OS_STOP_CALL;
		ret->code = message(tid);
	} else {
		ret->kind = OS_STOP_SIGNAL;
		ret->code = signal;
	}
	return true;
}

size_t os_task_read(int pid, uint64_t address, void *ret, size_t size)
{
	struct iovec to = {ret, size}, from = {(void *)(uintptr_t)address, size};
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

	if (n < 0 && errno == ESRCH) /* its first thread may have ended */
		n = process_vm_readv((int)os_proc_living((uint32_t)pid), &to, 1, &from, 1, 0);
	return n < 0 ? 0 : (size_t)n;
}

#else

bool os_ptrace_is_possible(void)
{
	return false;
}

int os_ptrace_seize(int tid)
{
	(void)tid;
	return -ENOSYS;
}

int os_ptrace_interrupt(int tid)
{
	(void)tid;
	return -ENOSYS;
}

int os_ptrace_go(int tid, enum os_go how, int signal)
{
	(void)tid, (void)how, (void)signal;
	return -ENOSYS;
}

int os_ptrace_detach(int tid, int signal)
{
	(void)tid, (void)signal;
	return -ENOSYS;
}

int os_ptrace_regs(int tid, struct os_regs *ret)
{
	(void)tid, (void)ret;
	return -ENOSYS;
}

int os_ptrace_set_flags(int tid, uint64_t flags)
{
	(void)tid, (void)flags;
	return -ENOSYS;
}

enum os_trap os_ptrace_trap(int tid, int pid)
{
	(void)tid, (void)pid;
	return OS_TRAP_OTHER;
}

int os_ptrace_mask(int tid, uint64_t *ret)
{
	(void)tid, (void)ret;
	return -ENOSYS;
}

int os_ptrace_set_mask(int tid, uint64_t mask)
{
	(void)tid, (void)mask;
	return -ENOSYS;
}

int os_ptrace_breakpoint(int tid, unsigned int slot, uint64_t address)
{
	(void)tid, (void)slot, (void)address;
	return -ENOSYS;
}

int os_ptrace_switch(int tid, unsigned int slots)
{
	(void)tid, (void)slots;
	return -ENOSYS;
}

bool os_ptrace_wait(bool is_blocking, struct os_stop *ret, int *ret_err)
{
	(void)is_blocking, (void)ret;
	*ret_err = -ENOSYS;
	return false;
}

size_t os_task_read(int pid, uint64_t address, void *ret, size_t size)
{
	(void)pid, (void)address, (void)ret, (void)size;
	return 0;
}
#endif
