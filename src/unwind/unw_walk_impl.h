/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_WALK_IMPL_H
#define UNWIND_UNW_WALK_IMPL_H

#include <string.h>

#include "unwind/unw_walk.h"

/* Inside of the walker: unw_walk.c is the loop and its fast steps, unw_walk_step.c the rare ones,
 * unw_walk_code.c what the instructions show. */

/** What a pc leads to. */
enum unw_slot_kind {
	SLOT_EMPTY,
	SLOT_PENDING, /* these two are asked for again each time */
	SLOT_NO_MAPPING,
	SLOT_URETPROBE,
	SLOT_NOT_CODE = SLOT_URETPROBE, /* the last of those that no return address may have */
	SLOT_CFA_SP, /* CFA = SP + cfa_off, RA at CFA + ra_off, FP by fp and fp_off */
	SLOT_CFA_FP, /* CFA = FP + cfa_off, else the same */
	SLOT_RULE,   /* .rule, of any other form */
	SLOT_SIGRETURN,
	SLOT_AFTER_SIGRETURN, /* that, if the stack holds a signal's frame, or something else */
	SLOT_OUTERMOST,
	SLOT_NO_RULE, /* nothing covers it: frame pointer */
	SLOT_UNREPRESENTABLE,
};

struct unw_slot {
	uint64_t pc, key; /* key = space id * 2 + is exact */
	union {
		struct {
			int32_t cfa_off, ra_off;
		};
		const struct unw_rule *rule;
	};
	int32_t fp_off;
	uint8_t kind;   /* enum unw_slot_kind */
	uint8_t origin; /* enum unw_origin */
	uint8_t fp;     /* enum unw_loc: SAME, AT_CFA or UNDEFINED */
	uint8_t why        : 4;
	uint8_t is_no_call : 1; /* code at hand shows no call before pc */
	uint8_t is_start   : 1; /* a return address that no call left: what a signal or a context
				   starts   there is looked up at pc itself */
};
_Static_assert(sizeof(struct unw_slot) == 32, "two a cache line");

enum { MEMO_BITS = 13 };

struct unw_memo {
	struct unw_slot slots[1 << MEMO_BITS];
};

/** The machine's conventions. */
struct unw_machine {
	uint8_t sp, fp, ra;   /* DWARF numbers; ra 0xff: on the stack */
	uint8_t sp_bias;      /* CFA = the caller's SP + this */
	int32_t sigreturn_pc; /* at sigreturn, from SP, where rules look for RA; 0: they do not */
};

struct unw_frame {
	uint64_t pc, sp, fp;
	bool has_sp; /* false: sp is only known not to be higher */
	bool has_fp;
	bool is_exact;  /* pc is the instruction itself */
	uint8_t origin; /* of the step that led here */
	/* why fp is unknown */
	uint8_t no_fp; /* enum unw_stop */
};

/** Where rbx as it was in w->now is. */
enum unw_rbx { RBX_IN_REG, /* of w->regs */ RBX_SAVED, /* on the stack */ RBX_LOST };

struct unw_walker {
	const struct unw_space *space;
	struct unw_memo *memo;
	const struct unw_machine *machine;
	/* Of the present frame where it is exact; only what regs->known says. */
	const struct unw_regs *regs;
	struct unw_frame now, next;
	uint64_t load_limit; /* offsets in the copied stack below this hold a whole word */
	uint64_t pac_mask;   /* code bits of a user address; 0: nothing to strip */
	struct unw_slot own; /* where there is no memo */
	struct unw_regs interrupted;
	/* amd64: few walks need rbx further up, and those start again, following it. Then there is
	 * no memo, and rule is the one of w->own, if any. */
	bool wants_rbx, follows_rbx;
	bool is_past_sigreturn; /* the present slot is no trampoline's, whatever stands before */
	enum unw_rbx rbx;
	uint64_t rbx_at;
	const struct unw_rule *rule;
};

/* --- unw_walk.c --- */
const struct unw_slot *unw_walk_look_up(struct unw_walker *w, uint64_t pc, bool is_exact);

bool unw_walk_load_far(const struct unw_walker *w, uint64_t address, uint64_t *ret);

static inline bool unw_walk_load(const struct unw_walker *w, uint64_t address, uint64_t *ret)
{
	const struct unw_space *s = w->space;
	uint64_t off = address - s->stack_start;

	if (__builtin_expect(off >= w->load_limit, 0))
		return unw_walk_load_far(w, address, ret);
	memcpy(ret, s->stack + off, 8);
	if (__builtin_expect(s->is_swapped, 0))
		*ret = __builtin_bswap64(*ret);
	return true;
}

static inline enum unw_stop unw_walk_unreadable(const struct unw_walker *w)
{
	return w->space->is_copy ? UNW_STOP_TRUNCATED : UNW_STOP_UNREADABLE;
}

/** base + off; false: it wrapped. */
static inline bool unw_walk_add(uint64_t base, int64_t off, uint64_t *ret)
{
	return !__builtin_add_overflow(base, off, ret);
}

/* --- unw_walk_step.c: each sets w->next or says why it cannot. --- */
enum unw_stop unw_step_rule(struct unw_walker *w, const struct unw_rule *rule);
enum unw_stop unw_step_sigreturn(struct unw_walker *w);
/** amd64: does SP point to what the kernel saved for a signal's handler? */
bool unw_step_has_sigcontext(const struct unw_walker *w);
enum unw_stop unw_step_fp(struct unw_walker *w);
/** The rule @p s is based on SP, which is unknown: by the frame record, if it describes one. */
enum unw_stop unw_step_record(struct unw_walker *w, const struct unw_slot *s);
/** A step was made from a place of @p kind and @p rule: where is rbx now? */
void unw_step_follow_rbx(struct unw_walker *w, enum unw_slot_kind kind,
			 const struct unw_rule *rule);
/** The caller's FP stands at @p address, which cannot be read: set next.fp or leave it unknown. */
void unw_step_lost_fp(struct unw_walker *w, uint64_t address);

/* --- unw_walk_code.c; rel is the address in @p code's terms --- */
bool unw_code_is_sigreturn(enum unw_arch arch, const struct unw_code *code, uint64_t rel);
/** amd64: right after its system call, where something else may begin. */
bool unw_code_is_after_sigreturn(enum unw_arch arch, const struct unw_code *code, uint64_t rel);
/** Inside of sigreturn code; aarch64: or right after its system call. */
bool unw_code_is_in_sigreturn(enum unw_arch arch, const struct unw_code *code, uint64_t rel);
/** Bytes are at hand and they do not end in a call before @p rel. */
bool unw_code_is_no_call(enum unw_arch arch, const struct unw_code *code, uint64_t rel);
/** A direct call ends right before @p rel: from there to where it leads. */
bool unw_code_call_target(enum unw_arch arch, const struct unw_code *code, uint64_t rel,
			  int64_t *ret);
/** aarch64: from @p start up to @p rel no instruction moves SP, or gives x30 another value. */
bool unw_code_keeps_link(const struct unw_code *code, uint64_t start, uint64_t rel);
/** s390x: the old form of sigreturn, without siginfo. */
bool unw_code_is_old_sigreturn(const struct unw_code *code, uint64_t rel);

/** Where a function stands that keeps a frame pointer, by the instruction at its pc. */
enum unw_code_place {
	UNW_CODE_BODY,   /* nothing special, or unknown */
	UNW_CODE_RETURN, /* amd64: RA at SP; aarch64: RA in x30, SP as at entry */
	UNW_CODE_ENTRY,  /* the same, of a prologue that sets a frame pointer up */
	UNW_CODE_MAYBE,  /* the same, if what stands here begins a function */
	UNW_CODE_PUSHED, /* FP at SP, RA at SP + 8, FP not yet set up; the rest of the frame is
			    above */
};
/** @p ret_frame_bytes: with UNW_CODE_PUSHED, from SP to the caller's SP. */
enum unw_code_place unw_code_place(enum unw_arch arch, const struct unw_code *code, uint64_t rel,
				   uint32_t *ret_frame_bytes);
/** amd64: from here on the function only pops registers and returns. */
bool unw_code_is_return(const struct unw_code *code, uint64_t rel);

#endif
