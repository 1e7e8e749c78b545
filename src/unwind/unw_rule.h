/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_RULE_H
#define UNWIND_UNW_RULE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The one row form that every unwind table is compiled into: how to step from an instruction to
 * its caller. A superset of SFrame V1-V3, of the .eh_frame that compilers write, and of frame
 * pointers. Registers are DWARF numbers (amd64: 6 = rbp, 7 = rsp; aarch64: 29 = x29, 31 = sp;
 * s390x: 11, 15).
 */
enum unw_arch { UNW_X86_64 = 1, UNW_AARCH64, UNW_S390X };

/** Register numbers of rules are below this. */
enum { UNW_MAX_REGS = 34 };

/** How the CFA is found. The caller's SP is the CFA (s390x: CFA - 160). */
enum unw_cfa {
	UNW_CFA_NONE,  /* nothing is known here: unw_rule.why says for what reason */
	UNW_CFA_REG,   /* reg + off */
	UNW_CFA_DEREF, /* *(reg + off) + off2 */
	UNW_CFA_PLT,   /* SP + 8 + 8 * ((pc & 15) >= off): an x86-64 lazy PLT */
	UNW_CFA_INDEX, /* *(reg + off + 8 * ra_reg's value) + off2; RA is UNW_AT_CFA: libcrypto */
};

/** Where RA or the caller's FP is. */
enum unw_loc {
	UNW_SAME,      /* still in its register; of RA: topmost frame or after a signal frame */
	UNW_AT_CFA,    /* *(CFA + off) */
	UNW_AT_REG,    /* *(reg + off) */
	UNW_IN_REG,    /* reg + off */
	UNW_UNDEFINED, /* RA: outermost frame; FP: lost */
};

enum {
	UNW_SIGNAL = 1 << 0,    /* frame made by signal delivery: the caller's pc is exact */
	UNW_RA_SIGNED = 1 << 1, /* aarch64 pointer authentication */
	UNW_KEY_B = 1 << 2,
	UNW_RBX_LOST = 1 << 3, /* the caller's rbx is where the rule has no room to say */
};

/** Why a place has no rule. */
enum unw_why {
	UNW_WHY_GAP,        /* no source covers it */
	UNW_WHY_EXPRESSION, /* a DWARF expression that none of our forms holds */
	UNW_WHY_REGISTER,   /* a register form that none of our forms holds */
	UNW_WHY_OPCODE,     /* an unknown call frame instruction: rest of the function */
	UNW_WHY_BAD,        /* the source is damaged here */
	UNW_WHY_OVERFLOW,   /* more distinct rules or rows than a table holds */
	UNW_WHY_EH_RETURN, /* the saved registers are those of an exception handler being entered */
	UNW_WHY_NEW_STACK, /* the function has gone over to another stack, which no source says */
};

/** Which source made the rule. */
enum unw_origin {
	UNW_NO_ORIGIN,
	UNW_SFRAME,
	UNW_EH_FRAME,
	UNW_DEBUG_FRAME,
	UNW_FP,          /* frame pointer by convention: nothing shows that it is one here */
	UNW_TRAMPOLINE,  /* sigreturn code known by its bytes */
	UNW_FP_PROLOGUE, /* frame pointer, or the way there, by the instructions that set it up */
	UNW_DERIVED,     /* the call stands right before the return address */
};

/** amd64: the one further register that callees save and callers' CFAs are based on, as in ld.so's
 * lazy binding. */
enum { UNW_RBX = 3 };

/* cfa_off2 of UNW_CFA_REG on amd64: the caller's rbx is at *(CFA + cfa_off2); 0: rbx still holds
 * it. SFrame does not say: in its rules 0 says nothing.
 * 24 bytes; also laid out so in BPF maps (record/bpf). cfa == UNW_CFA_NONE: only why and origin
 * count. */
struct unw_rule {
	int32_t cfa_off, cfa_off2;
	int32_t ra_off, fp_off;
	uint8_t cfa, cfa_reg; /* enum unw_cfa */
	uint8_t ra, ra_reg;   /* enum unw_loc */
	uint8_t fp, fp_reg;   /* enum unw_loc */
	uint8_t flags;
	uint8_t origin : 4, why : 4;
};
_Static_assert(sizeof(struct unw_rule) == 24, "laid out in BPF maps and cache files");

/** Why a walk ended. */
enum unw_stop {
	UNW_STOP_NONE,
	UNW_STOP_OUTERMOST,       /* complete: RA undefined, or 0 after a call */
	UNW_STOP_NO_INFO,         /* no rule covers the pc and no frame pointer is plausible */
	UNW_STOP_NO_TABLE_YET,    /* recording: the binary's table was not loaded yet */
	UNW_STOP_NO_MAPPING,      /* the pc lies in no executable mapping */
	UNW_STOP_UNREPRESENTABLE, /* the rule here is one that unw_why names */
	UNW_STOP_REGISTER,        /* the rule needs a register that is unknown in this frame */
	UNW_STOP_BAD_CFA,         /* misaligned, not above SP, or wrapped */
	UNW_STOP_BAD_RA,          /* the return address lies in no executable mapping */
	UNW_STOP_UNREADABLE,      /* stack memory could not be read */
	UNW_STOP_TRUNCATED,       /* it lies outside of the copied stack */
	UNW_STOP_LOOP,            /* pc and SP as in the frame before */
	UNW_STOP_MAX_DEPTH,
	UNW_STOP_EXITING,     /* the address space was gone */
	UNW_STOP_UNSUPPORTED, /* registers of a machine or word size that is not unwound */
	UNW_STOP_MAPS_BUSY,   /* recording: another thread was changing the mappings */
	UNW_STOP_FP_END,      /* a frame pointer of 0, or one to a return address of 0: often the
				 deepest frame, which nothing proves */
	UNW_STOP_URETPROBE,   /* a probe has replaced the return address; a copy of the stack does
				 not hold the original */
	UNW_STOP_LATE,        /* recording: user mode ran before the walk; no frames */
	/* Of calls in a hardware trace: what came before the outermost frame. */
	UNW_STOP_TRACE_BEGIN,     /* they were called before the trace began */
	UNW_STOP_TRACE_LOST,      /* trace is missing */
	UNW_STOP_TRACE_ELSEWHERE, /* tracing began again elsewhere than it ended */
	UNW_STOP_TRACE_JUMP,      /* a return or jump that no call explains */
	UNW_STOP_TRACE_SWITCH,    /* another stack, or another thread */
	NR_UNW_STOPS
};

/** Does a stack that ends for that reason lack its outermost frames? UNW_STOP_OUTERMOST proves that
 * it does not; of UNW_STOP_NONE and UNW_STOP_FP_END nothing is proven. */
static inline bool unw_stop_is_cut(enum unw_stop s)
{
	return s != UNW_STOP_NONE && s != UNW_STOP_OUTERMOST && s != UNW_STOP_FP_END;
}
/** "outermost", "no-info", ... as in docs/spec/script-json.md; never NULL. */
const char *unw_stop_name(enum unw_stop s);
/** "sframe", "eh_frame", "fp-convention", ...; "" for none. */
const char *unw_origin_name(enum unw_origin o);

/** How a frame was found, as users see it: the sources of tables are one. */
enum unw_how {
	UNW_HOW_NONE, /* by its registers, or unknown */
	UNW_HOW_TABLE,
	UNW_HOW_SIGNAL,
	UNW_HOW_FP_PROLOGUE,
	UNW_HOW_DERIVED,
	UNW_HOW_FP_CONVENTION, /* a caller may be omitted before this frame */
	NR_UNW_HOWS
};
enum unw_how unw_how_of(enum unw_origin o);
/** "table", "signal", "fp-prologue", "derived", "fp-convention"; "" for none. */
const char *unw_how_name(enum unw_how h);
const char *unw_why_name(enum unw_why w);

#endif
