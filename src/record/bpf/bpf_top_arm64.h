/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_TOP_ARM64_H
#define RECORD_BPF_BPF_TOP_ARM64_H

#include "unwind/unw_insn_a64.h"

/* What the instructions of AArch64 show of a frame. Part of bpf_step.h. */

/* Do the eight bytes before a return address, the last in the top byte, end in a call? */
__weak __noinline int is_call(uint64_t code)
{
	return a64_is_call((uint32_t)(code >> 32));
}

/* Does the direct call before @p ra, if the word before that is @p code, lead into the function
 * that holds pc, and not after pc? To where? 0: it does not. */
static __always_inline uint64_t called_from(struct walk *w, struct walk_vma *v, uint64_t ra,
					    uint64_t code)
{
	uint32_t insn = (uint32_t)(code >> 32);
	uint64_t target = ra - 4 + (uint64_t)a64_bl_off(insn);

	return a64_is_bl(insn) && target <= w->pc && target >= function_start(w, v) ? target : 0;
}

enum { MAX_SCAN = 64 }; /* instructions before pc; unw_code_keeps_link() looks at more */

/* From @p start on up to pc no instruction moves SP, or gives x30 another value. The window of the
 * stack is used up. */
static __always_inline bool keeps_link(struct walk *w, uint64_t start, const enum walk_way way,
				       struct task_struct *task)
{
	uint32_t *code = (uint32_t *)w->piece.word;
	uint64_t nr = (w->pc - start) / 4;
	uint32_t i;

	if ((w->pc | start) & 3 || nr > MAX_SCAN)
		return false;
	w->win_words = 0;
	if (nr && read_user(w, way, code, (uint32_t)(nr * 4), start, task))
		return false;
	for (i = 0; i < MAX_SCAN && i < nr; i++) {
		if (a64_ends_link(code[i]))
			return false;
	}
	return true;
}

/* Has the function not made its frame yet, taken it down, or none? @return how that was found
 * (enum unw_origin): the return address is in x30; 0: nothing shows it. */
static __always_inline uint8_t has_link(struct walk *w, struct walk_vma *v, uint32_t insn,
					const uint64_t *call, const enum walk_way way,
					struct task_struct *task)
{
	uint64_t start;

	if (a64_is_ret(insn))
		return UNW_DERIVED;
	if (a64_is_landing(insn) || a64_is_push_fp_lr(insn))
		return UNW_FP_PROLOGUE;
	start = called_from(w, v, call[0], call[1]);
	if (!start && v->code == WALK_TABLE)
		start = function_start(w, v);
	return start && keeps_link(w, start, way, task) ? UNW_DERIVED : 0;
}

/* stp x29, x30, [sp, #-N]! has run, and what sets x29 is next: @p code, from eight bytes before pc
 * on. */
static __always_inline bool is_pushed(const uint64_t *code)
{
	return a64_is_set_fp((uint32_t)code[1]) && !a64_imm12((uint32_t)code[1]) &&
	       a64_is_push_fp_lr((uint32_t)(code[0] >> 32));
}

/* The return address in x30, or on top of the stack with x29, of a function without a frame. */
static __always_inline bool step_top(struct walk *w, struct walk_vma *v, struct step *s,
				     const enum walk_way way, struct task_struct *task)
{
	uint64_t *code = w->interrupted, *call = w->interrupted + 2;
	uint64_t size = 0;

	if (!w->is_exact || read_user(w, way, code, 16, w->pc - 8, task))
		return false;
	s->fp = w->r[REG_FP];
	s->ra = w->r[REG_LINK];
	s->keeps_fp = w->known >> REG_FP & 1;
	if (is_pushed(code)) {
		size = (uint64_t)(int64_t)-a64_pair_off((uint32_t)(code[0] >> 32));
		if (!get_word(w, w->r[REG_SP], &s->fp, way, task) ||
		    !get_word(w, w->r[REG_SP] + 8, &s->ra, way, task))
			return false;
		s->keeps_fp = true;
	} else if (!(w->known >> REG_LINK & 1)) {
		return false;
	}
	s->ra &= w->code_bits;
	call[0] = s->ra;
	if (!s->ra || read_user(w, way, &call[1], 8, s->ra - 8, task) || !is_call(call[1]))
		return false;
	s->method = size ? UNW_FP_PROLOGUE : has_link(w, v, (uint32_t)code[1], call, way, task);
	s->cfa = w->r[REG_SP] + size;
	s->is_signal = false;
	return s->method;
}

#endif
