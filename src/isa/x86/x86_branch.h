/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_X86_X86_BRANCH_H
#define ISA_X86_X86_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include <clew/err.h>

#include "isa/insn.h"

enum { X86_MAX_BYTES = 15 };

/** insn.detail */
enum x86_detail {
	X86_NONE,
	/* INSN_FAR */
	X86_FAR_JUMP,
	X86_FAR_CALL,
	X86_FAR_RETURN,
	X86_SYSCALL, /* SYSCALL, SYSENTER */
	X86_SYSRET,  /* SYSRET, SYSEXIT */
	X86_IRET,    /* IRET, UIRET, ERETS, ERETU, RSM */
	X86_VM_ENTRY,
	/* INSN_BRANCH */
	X86_CALL_TO_NEXT, /* x86_decode() does not make it: who keeps no return address of it does
			   */
	/* INSN_SPECIAL */
	X86_INT,     /* INT n, INT1, INT3, INTO: traced as a fault of the instruction itself */
	X86_VM_CALL, /* VMCALL, VMMCALL: an exit to the hypervisor where there is one */
	X86_MOV_CR3,
	X86_VMPTRLD,
	X86_PTWRITE,
};

/** false: built without Zydis, so x86_decode() always fails. */
bool x86_can_decode(void);

/**
 * The instruction at @p pc, of which [@p code, @p code + @p bytes) are readable; more than
 * X86_MAX_BYTES are never needed. @p mode: ISA_X86_64, _32 or _16.
 * A near call has INSN_LINK whatever its target; Intel PT does not push one to the next
 * instruction. XBEGIN is INSN_TSTART, without target.
 *
 * @return CLEW_OK; CLEW_TRUNCATED: the bytes end inside the instruction; CLEW_BAD_PACKET: undefined
 *         in this mode, or longer than X86_MAX_BYTES; CLEW_UNSUPPORTED: see x86_can_decode().
 *         Except on CLEW_OK, @p ret is unchanged.
 * Spec: Intel SDM volume 2, appendix "Opcode Map"; volume 3, chapter "Intel Processor Trace".
 */
enum clew_err x86_decode(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
			 struct insn *ret);

/**
 * The offset of the first instruction in [@p code, @p code + @p bytes), which is at @p pc, that is
 * not INSN_PLAIN, or that x86_decode() does not know there. @p ret_nr: instructions before it. @p
 * ret: that instruction; bytes is 0 if x86_decode() fails.
 */
size_t x86_find_branch(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
		       uint32_t *ret_nr, struct insn *ret);

#endif
