/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_INSN_H
#define UNWIND_UNW_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unwind/unw_insn_a64.h"

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

enum { X86_SIGRETURN_PC = 168 }; /* from SP: ucontext, sigcontext_64.ip */

#endif
