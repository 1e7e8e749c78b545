/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_INSN_H
#define UNWIND_UNW_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The few instructions by which functions set frames up and take them down.
 * Spec: Intel SDM volume 2; Arm ARM (DDI 0487), "A64 Base Instruction Descriptions".
 */

/* --- amd64: bytes at @p p, of which @p nr are there --- */

enum { X86_ENDBR_BYTES = 4, X86_PUSH_MOV_BYTES = 4 };

static inline bool x86_is_endbr(const uint8_t *p, size_t nr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return nr >= sizeof(endbr64) && !memcmp(p, endbr64, sizeof(endbr64));
}

/** push %rbp; mov %rsp, %rbp, in both encodings. */
static inline bool x86_is_push_mov(const uint8_t *p, size_t nr)
{
	return nr >= X86_PUSH_MOV_BYTES && p[0] == 0x55 && p[1] == 0x48 &&
	       ((p[2] == 0x89 && p[3] == 0xe5) || (p[2] == 0x8b && p[3] == 0xec));
}

/** pop %rbp or leave. */
static inline bool x86_takes_frame_down(uint8_t byte)
{
	return byte == 0x5d || byte == 0xc9;
}

/* --- aarch64; instructions are little endian whatever the data is --- */

static inline uint32_t a64_load(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

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

#endif
