/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_REGS_X86_H
#define RECORD_BPF_BPF_REGS_X86_H

/* Of <asm/ptrace.h>: user ABI, the same everywhere. */
struct clew_regs {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	uint64_t orig_ax, ip, cs, flags, sp, ss;
};

enum { REG_FP = 6, REG_SP = 7, HAS_LINK = 0, REG_LINK = REG_SP, HAS_RBX = 1 };
#define KNOWN_AT_FIRST 0xffffull
enum { SIGRETURN = 15, CLONE = 56, EXECVE = 59, EXECVEAT = 322, CLONE3 = 435, SYSCALL_BYTES = 2 };
enum { USER_CS = 0x33 };
enum { CALL_BYTES = 8 }; /* under the CFA, where a call leaves its return address */

/* Spec: arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64, 40 bytes into the ucontext.
 * sigreturn's SP points to it, the handler's to the return address below. */
enum {
	NR_SIGNAL_REGS = 17,
	SIGNAL_FP = 10,
	SIGNAL_SP = 15,
	SIGNAL_PC = 16,
	SIGRETURN_REGS = 40,
	HANDLER_REGS = 48,
};
/* Where the kernel changes the registers of an interrupted system call: as late as it can. */
enum { RESTARTS_EARLY = 0 };

CLEW_INLINE uint64_t pc_of(const struct clew_regs *r)
{
	return r->ip;
}

CLEW_INLINE uint64_t sp_of(const struct clew_regs *r)
{
	return r->sp;
}

CLEW_INLINE uint64_t result_of(const struct clew_regs *r)
{
	return r->ax;
}

/** Its number, if the entry is a system call. */
CLEW_INLINE uint64_t syscall_of(const struct clew_regs *r)
{
	return r->orig_ax;
}

CLEW_INLINE bool is_user_mode(const struct clew_regs *r)
{
	return r->cs & 3;
}

/** Of a 64-bit program. */
CLEW_INLINE bool is_native(const struct clew_regs *r)
{
	return (r->cs & 0xffff) == USER_CS;
}

CLEW_INLINE void set_pc_and_sp(struct clew_regs *r, uint64_t pc, uint64_t sp)
{
	r->ip = pc;
	r->sp = sp;
}

/** cookie_sight.place of these registers, were they at @p pc. */
CLEW_INLINE uint64_t place_at(const struct clew_regs *r, uint64_t pc)
{
	uint64_t h = mix(pc, r->sp);

	h = mix(h, r->orig_ax);
	h = mix(h, r->bp);
	h = mix(h, r->bx);
	h = mix(h, r->r12);
	h = mix(h, r->r13);
	h = mix(h, r->r14);
	h = mix(h, r->r15);
	h = mix(h, r->di);
	h = mix(h, r->si);
	h = mix(h, r->dx);
	h = mix(h, r->r8);
	h = mix(h, r->r9);
	h = mix(h, r->r10);
	return h | 1;
}

/** A program that has not run yet: exec sets all registers to 0 but these two. */
CLEW_INLINE bool is_fresh(const struct clew_regs *r)
{
	return r->ip && r->sp && !(r->bp | r->bx | r->r12 | r->r13 | r->r14 | r->r15 | r->di);
}

/** All but SP and PC of what a signal interrupted. */
CLEW_INLINE void regs_of_signal(struct clew_regs *r, const uint64_t *saved)
{
	r->r8 = saved[0];
	r->r9 = saved[1];
	r->r10 = saved[2];
	r->r11 = saved[3];
	r->r12 = saved[4];
	r->r13 = saved[5];
	r->r14 = saved[6];
	r->r15 = saved[7];
	r->di = saved[8];
	r->si = saved[9];
	r->bp = saved[10];
	r->bx = saved[11];
	r->dx = saved[12];
	r->ax = saved[13];
	r->cx = saved[14];
}

/** By DWARF numbers. */
CLEW_INLINE void number_regs(uint64_t *to, const struct clew_regs *r)
{
	to[0] = r->ax;
	to[1] = r->dx;
	to[2] = r->cx;
	to[3] = r->bx;
	to[4] = r->si;
	to[5] = r->di;
	to[REG_FP] = r->bp;
	to[REG_SP] = r->sp;
	to[8] = r->r8;
	to[9] = r->r9;
	to[10] = r->r10;
	to[11] = r->r11;
	to[12] = r->r12;
	to[13] = r->r13;
	to[14] = r->r14;
	to[15] = r->r15;
}

/** By DWARF numbers, all but SP and FP. */
CLEW_INLINE void number_signal_regs(uint64_t *to, const uint64_t *saved)
{
	to[8] = saved[0];
	to[9] = saved[1];
	to[10] = saved[2];
	to[11] = saved[3];
	to[12] = saved[4];
	to[13] = saved[5];
	to[14] = saved[6];
	to[15] = saved[7];
	to[5] = saved[8];
	to[4] = saved[9];
	to[3] = saved[11];
	to[1] = saved[12];
	to[0] = saved[13];
	to[2] = saved[14];
}

#endif
