/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_REGS_ARM64_H
#define RECORD_BPF_BPF_REGS_ARM64_H

#include "unwind/unw_insn_a64.h"

/* Of <asm/ptrace.h>, struct user_pt_regs: user ABI, with which the kernel's pt_regs begin. */
struct clew_regs {
	uint64_t x[31], sp, pc, pstate;
};

enum { REG_FP = A64_FP, REG_SP = A64_SP, HAS_LINK = 1, REG_LINK = A64_LINK, HAS_RBX = 0 };
#define KNOWN_AT_FIRST 0xffffffffull
enum {
	SIGRETURN = 139,
	CLONE = 220,
	EXECVE = 221,
	EXECVEAT = 281,
	CLONE3 = 435,
	SYSCALL_BYTES = 4
};
enum { PSR_MODE = 0xf, PSR_MODE32 = 0x10 }; /* 0: EL0, of AArch64 */
enum { CALL_BYTES = 0 };

/* SP points to them for sigreturn and for the handler. */
enum {
	NR_SIGNAL_REGS = 33,
	SIGNAL_FP = 29,
	SIGNAL_SP = 31,
	SIGNAL_PC = 32,
	SIGRETURN_REGS = A64_SIGRETURN_REGS,
	HANDLER_REGS = A64_SIGRETURN_REGS,
};
/* Where the kernel changes the registers of an interrupted system call: before it looks for a
 * signal, and task works run in between (arch/arm64/kernel/signal.c, do_signal()). */
enum { RESTARTS_EARLY = 1 };

CLEW_INLINE uint64_t pc_of(const struct clew_regs *r)
{
	return r->pc;
}

CLEW_INLINE uint64_t sp_of(const struct clew_regs *r)
{
	return r->sp;
}

CLEW_INLINE uint64_t result_of(const struct clew_regs *r)
{
	return r->x[0];
}

/* Of pt_regs.syscallno, the kernel lets interrupts in before it has stored it. So an entry that is
 * no system call may look like one: whoever asks is right with either. */
CLEW_INLINE uint64_t syscall_of(const struct clew_regs *r)
{
	return r->x[8];
}

CLEW_INLINE bool is_user_mode(const struct clew_regs *r)
{
	return !(r->pstate & PSR_MODE);
}

/** Of a 64-bit program. */
CLEW_INLINE bool is_native(const struct clew_regs *r)
{
	return !(r->pstate & (PSR_MODE | PSR_MODE32));
}

CLEW_INLINE void set_pc_and_sp(struct clew_regs *r, uint64_t pc, uint64_t sp)
{
	r->pc = pc;
	r->sp = sp;
}

/** cookie_sight.place of these registers, were they at @p pc. System calls change x0 alone. Inline,
 * twice in one program, the registers are kept on its stack. */
static __attribute__((noinline)) uint64_t place_at(const struct clew_regs *r, uint64_t pc)
{
	uint64_t h = mix(pc, r->sp);

#pragma unroll
	for (uint32_t i = 1; i < 31; i++)
		h = mix(h, r->x[i]);
	return h | 1;
}

/** A program that has not run yet: exec sets all registers to 0 but these two. */
CLEW_INLINE bool is_fresh(const struct clew_regs *r)
{
	return r->pc && r->sp && !(r->x[19] | r->x[20] | r->x[8] | r->x[29] | r->x[30] | r->x[1]);
}

/** All but SP and PC of what a signal interrupted. */
CLEW_INLINE void regs_of_signal(struct clew_regs *r, const uint64_t *saved)
{
	__builtin_memcpy(r->x, saved, sizeof(r->x));
}

/** By DWARF numbers. */
CLEW_INLINE void number_regs(uint64_t *to, const struct clew_regs *r)
{
	__builtin_memcpy(to, r, 8 * 32);
}

/** By DWARF numbers, all but SP and FP. */
CLEW_INLINE void number_signal_regs(uint64_t *to, const uint64_t *saved)
{
	__builtin_memcpy(to, saved, 8 * 29);
	to[REG_LINK] = saved[REG_LINK];
}

#endif
