/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_X86_X86_OUTCOME_H
#define ISA_X86_X86_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/insn.h"

/*
 * Where a branch will go, from the registers before it: for who stops a program at its branches.
 * Spec: Intel SDM volume 2, "Jcc", "LOOP", "JMP", "CALL", "RET"; volume 1, "Specifying an Offset".
 */

enum x86_way {
	X86_WAY_FLAGS,  /* Jcc: code is its condition, 0 to 15 */
	X86_WAY_COUNT,  /* LOOPNE, LOOPE, LOOP, JCXZ: code 0 to 3 */
	X86_WAY_REG,    /* the target is in register base */
	X86_WAY_MEMORY, /* it lies where the operand says */
	X86_WAY_RETURN, /* it lies on the stack */
};

enum { X86_NO_REG = 0xff, X86_REG_IP = 0xfe };

struct x86_outcome {
	uint8_t way;           /* enum x86_way */
	uint8_t code;          /* of the first two */
	uint8_t base, index;   /* register numbers, X86_NO_REG, X86_REG_IP */
	uint8_t scale;         /* shift of the index */
	uint8_t segment;       /* 0, or the prefix: 0x64 FS, 0x65 GS */
	uint8_t target_bytes;  /* of REG, MEMORY, RETURN: 2, 4, 8 */
	uint8_t address_bytes; /* of COUNT, MEMORY */
	int64_t displacement;
	uint64_t next; /* address of the instruction after it */
};

/** Before the branch. gpr in the order of the instruction set. */
struct x86_state {
	const uint64_t *gpr; /* 16 */
	uint64_t flags, fs_base, gs_base;
};

/** Of the near branch INSN_COND or INSN_INDIRECT at @p pc. @return false: not of a form known here
 * (REX2, ...). */
bool x86_outcome_of(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
		    struct x86_outcome *ret);

/** Is the conditional branch taken? */
bool x86_is_taken(const struct x86_outcome *o, const struct x86_state *s);

/** Of REG: the target. Of MEMORY and RETURN: the address where it lies. */
uint64_t x86_outcome_place(const struct x86_outcome *o, const struct x86_state *s);

#endif
