/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_INSN_A64_H
#define UNWIND_UNW_INSN_A64_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The instructions of AArch64 by which functions set frames up, take them down and call, little
 * endian whatever the data is. Compiled for BPF, too. Spec: Arm ARM (DDI 0487), "A64 Base
 * Instruction Descriptions".
 */

enum { A64_FP = 29, A64_LINK = 30, A64_SP = 31 }; /* DWARF numbers */

/** At sigreturn. Spec: Linux 7.3 arch/arm64/kernel/signal.c, struct rt_sigframe,
 * to which SP points: siginfo of 128 bytes, ucontext; in it sigcontext, aligned to 16:
 * fault_address, regs[31], sp, pc. */
enum { A64_SIGRETURN_REGS = 312, A64_SIGRETURN_PC = 568 };

/** Sign-extended imm7 of a pair, in bytes. */
static inline int32_t a64_pair_off(uint32_t insn)
{
	return (((int32_t)(insn >> 15 & 0x7f) ^ 0x40) - 0x40) * 8;
}

/** imm12 of ADD and SUB, in bytes. */
static inline uint32_t a64_imm12(uint32_t insn)
{
	return (insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
}

static inline bool a64_is_ret(uint32_t insn) /* RET, RETAA, RETAB */
{
	return insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff;
}

static inline bool a64_is_bl(uint32_t insn)
{
	return insn >> 26 == 0x25;
}

/** From a BL to where it leads, in bytes. */
static inline int64_t a64_bl_off(uint32_t insn)
{
	return (((int64_t)(insn & 0x3ffffff) ^ 0x2000000) - 0x2000000) * 4;
}

static inline bool a64_is_call(uint32_t insn) /* BL, BLR, BLRAA and its kin */
{
	return a64_is_bl(insn) || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

static inline bool a64_is_landing(uint32_t insn) /* PACIASP, PACIBSP, BTI c */
{
	return insn == 0xd503233f || insn == 0xd503237f || insn == 0xd503245f;
}

static inline bool a64_is_push_fp_lr(uint32_t insn) /* stp x29, x30, [sp, #-N]! */
{
	return (insn & 0xffc07fff) == 0xa9807bfd;
}

static inline bool a64_is_store_fp_lr(uint32_t insn) /* stp x29, x30, [sp, #N] */
{
	return (insn & 0xffc07fff) == 0xa9007bfd;
}

static inline bool a64_is_pop_fp_lr(uint32_t insn) /* ldp x29, x30, [sp], #N */
{
	return (insn & 0xffc07fff) == 0xa8c07bfd;
}

static inline bool a64_is_load_fp_lr(uint32_t insn) /* ldp x29, x30, [sp, #N] */
{
	return (insn & 0xffc07fff) == 0xa9407bfd;
}

static inline bool a64_is_push_pair(uint32_t insn) /* stp ..., [sp, #-N]! */
{
	return (insn & 0xffc003e0) == 0xa98003e0;
}

static inline bool a64_is_sub_sp(uint32_t insn) /* sub sp, sp, #N */
{
	return (insn & 0xff8003ff) == 0xd10003ff;
}

static inline bool a64_is_add_sp(uint32_t insn) /* add sp, sp, #N */
{
	return (insn & 0xff8003ff) == 0x910003ff;
}

static inline bool a64_is_set_fp(uint32_t insn) /* add x29, sp, #N; mov x29, sp */
{
	return (insn & 0xff8003ff) == 0x910003fd;
}

/** SUB SP, STP and STR with writeback; BL and BLR; LDP, LDR and MOV of x30: before it x30 and SP
 * are those of the function's start. */
static inline bool a64_ends_link(uint32_t insn)
{
	return (insn & 0xff00001f) == 0xd100001f || a64_is_push_pair(insn) ||
	       (insn & 0xffe00fe0) == 0xf8000fe0 || a64_is_bl(insn) ||
	       (insn & 0xfffffc1f) == 0xd63f0000 || (insn & 0xffc07c00) == 0xa9407800 ||
	       (insn & 0xffc0001f) == 0xf940001e || (insn & 0xffe0ffff) == 0xaa0003fe;
}

#endif
