/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_INSN_H
#define ISA_INSN_H

#include <stdbool.h>
#include <stdint.h>

/* What a trace decoder has to know of an instruction: how long it is, what the trace reports of it,
 * and where it goes. Nothing else is decoded. */

/** Instruction set and mode. */
enum isa { ISA_A64, ISA_A32, ISA_T32, ISA_X86_64, ISA_X86_32, ISA_X86_16, NR_ISAS };

enum insn_kind {
	INSN_PLAIN,    /* no waypoint */
	INSN_BRANCH,   /* direct, always taken */
	INSN_COND,     /* direct, taken or not */
	INSN_INDIRECT, /* target from the trace */
	INSN_ISB,
	INSN_WFX,    /* WFI, WFE, WFIT, WFET: a waypoint only where the unit says so */
	INSN_TSTART, /* start of a transaction */
	INSN_FAR,    /* target from the trace; mode and address space may change, no return stack */
	INSN_SPECIAL, /* the next one follows, but the trace may report an event at this one */
};

enum {
	INSN_LINK = 1 << 0,     /* pushes the return stack */
	INSN_RET = 1 << 1,      /* a return, by the architecture's own hint */
	INSN_ERET = 1 << 2,     /* an exception return */
	INSN_SWITCH = 1 << 3,   /* INSN_BRANCH to the other instruction set, A32 <-> T32 */
	INSN_MAY_FAIL = 1 << 4, /* conditional execution: an N atom is right */
};

struct insn {
	uint64_t target; /* of INSN_BRANCH and INSN_COND */
	uint8_t kind;    /* enum insn_kind */
	uint8_t flags;   /* INSN_LINK and so on */
	uint8_t bytes;   /* A64, A32: 4; T32: 2 or 4; x86: 1 to 15 */
	uint8_t detail;  /* of INSN_FAR and INSN_SPECIAL: which, as the instruction set names it */
};

/** Do ETM and ETE report it? @p has_wfx: this one reports INSN_WFX. */
static inline bool insn_is_waypoint(const struct insn *i, bool has_wfx)
{
	return i->kind != INSN_PLAIN && (i->kind != INSN_WFX || has_wfx);
}

#endif
