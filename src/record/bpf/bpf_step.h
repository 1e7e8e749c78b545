/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_STEP_H
#define RECORD_BPF_BPF_STEP_H

#include "record/bpf/bpf_find.h"

/* From one frame to its caller: by rule, by frame pointer, by what the instructions show. */

struct step {
	uint64_t cfa, ra, fp;
	uint64_t rbx_at; /* as of struct walk; 0: as it was */
	uint8_t method;
	bool keeps_fp, is_signal;
	bool has_no_sp;  /* cfa is only known not to be higher */
	bool is_no_call; /* by convention, and no call stands before ra: only code of no file may
			    return there */
	bool has_all;    /* all registers are known again: walk.r holds them */
};

static __always_inline bool get_reg(const struct walk *w, uint8_t reg, uint64_t *ret)
{
	reg &= 31;
	if (!(w->known >> reg & 1))
		return false;
	*ret = w->r[reg & (CB_NR_REGS - 1)];
	return true;
}

enum { UNTOLD_BYTES = 4096 }; /* of code where nothing separates functions */

/* Where the function that holds pc may start, without a rule. */
static __always_inline uint64_t function_start(const struct walk *w, struct walk_vma *v)
{
	if (v->code == WALK_TABLE && w->pc + v->bias >= v->first)
		return row_start(v, w->pc + v->bias) - v->bias;
	return w->pc - v->start > UNTOLD_BYTES ? w->pc - UNTOLD_BYTES : v->start;
}

#if defined(__TARGET_ARCH_arm64)
# include "record/bpf/bpf_top_arm64.h"
#else
# include "record/bpf/bpf_top_x86.h"
#endif

/* Where frame pointers are kept, the caller's lies under the return address. */
static __always_inline bool step_fp(struct walk *w, struct step *s, const enum walk_way way,
				    struct task_struct *task)
{
	uint64_t fp = w->r[REG_FP], code = 0;

	if (!(w->known >> REG_FP & 1) || fp & 7 || fp < w->r[REG_SP] ||
	    fp - w->r[REG_SP] > 8 << 20 || !get_word(w, fp, &s->fp, way, task) ||
	    !get_word(w, fp + 8, &s->ra, way, task))
		return false;
	s->ra &= w->code_bits;
	if (s->ra && read_user(w, way, &code, sizeof(code), s->ra - 8, task))
		return false;
	s->is_no_call = s->ra && !is_call(code);
	s->cfa = fp + 16;
	s->has_no_sp = HAS_LINK; /* the frame record stands at the bottom of the frame */
	s->rbx_at = RBX_LOST;
	s->keeps_fp = true;
	s->is_signal = false;
	s->method = UNW_FP;
	return true;
}

static __always_inline uint8_t get_cfa(struct walk *w, const struct unw_rule *r, uint64_t *ret,
				       const enum walk_way way, struct task_struct *task)
{
	uint64_t base, index;

	if (r->cfa == UNW_CFA_PLT) {
		*ret = w->r[REG_SP] + 8 + ((int64_t)(w->pc & 15) >= r->cfa_off ? 8 : 0);
		return UNW_STOP_NONE;
	}
	if (!get_reg(w, r->cfa_reg, &base))
		return UNW_STOP_REGISTER;
	base += (uint64_t)(int64_t)r->cfa_off;
	if (r->cfa == UNW_CFA_INDEX) {
		if (!get_reg(w, r->ra_reg, &index))
			return UNW_STOP_REGISTER;
		base += index * 8;
	}
	if (r->cfa == UNW_CFA_DEREF || r->cfa == UNW_CFA_INDEX) {
		if (!get_word(w, base, &base, way, task))
			return UNW_STOP_UNREADABLE;
		base += (uint64_t)(int64_t)r->cfa_off2;
	}
	*ret = base;
	return UNW_STOP_NONE;
}

/* Where a rule finds a register of the caller. */
struct saved {
	uint8_t loc, reg; /* enum unw_loc */
	int32_t off;
};

static __always_inline uint8_t get_saved(struct walk *w, const struct saved *s, uint64_t cfa,
					 uint64_t *ret, const enum walk_way way,
					 struct task_struct *task)
{
	uint64_t base = cfa;

	if (s->loc != UNW_AT_CFA && !get_reg(w, s->reg, &base))
		return UNW_STOP_REGISTER;
	base += (uint64_t)(int64_t)s->off;
	if (s->loc == UNW_IN_REG) {
		*ret = base;
		return UNW_STOP_NONE;
	}
	return get_word(w, base, ret, way, task) ? UNW_STOP_NONE : UNW_STOP_UNREADABLE;
}

/* SP points to what a signal saved: all registers of the interrupted code. */
static __always_inline uint8_t step_sigreturn(struct walk *w, struct step *s,
					      const enum walk_way way, struct task_struct *task)
{
	if (read_user(w, way, w->interrupted, sizeof(w->interrupted), w->r[REG_SP] + SIGRETURN_REGS,
		      task))
		return UNW_STOP_UNREADABLE;
	s->cfa = w->interrupted[SIGNAL_SP];
	s->fp = w->interrupted[SIGNAL_FP];
	s->ra = w->interrupted[SIGNAL_PC];
	if (s->cfa & 7)
		return UNW_STOP_BAD_CFA;
	s->keeps_fp = s->is_signal = s->has_all = true;
	s->method = UNW_TRAMPOLINE;
	return UNW_STOP_NONE;
}

static __always_inline void take_interrupted(struct walk *w)
{
	number_signal_regs(w->r, w->interrupted);
	w->rbx_at = 0;
	w->known = KNOWN_AT_FIRST;
}

/* x86: make r[UNW_RBX] known in a frame that called another, if it is. */
static __always_inline void recall_rbx(struct walk *w, const enum walk_way way,
				       struct task_struct *task)
{
	if (!HAS_RBX || w->known >> UNW_RBX & 1 || w->rbx_at == RBX_LOST ||
	    (w->rbx_at && !get_word(w, w->rbx_at, &w->r[UNW_RBX], way, task)))
		return;
	w->rbx_at = 0;
	w->known |= 1 << UNW_RBX;
}

/* Where has @p r, with a known CFA, the caller's rbx? Below SP it was popped again: compilers
 * leave the rule as it was. */
static __always_inline void follow_rbx(const struct walk *w, const struct unw_rule *r,
				       struct step *s)
{
	uint64_t at = s->cfa + (uint64_t)(int64_t)r->cfa_off2;

	if (r->flags & (UNW_RBX_LOST | UNW_SIGNAL) || r->origin == UNW_SFRAME)
		s->rbx_at = RBX_LOST;
	else if (r->cfa == UNW_CFA_REG && r->cfa_off2 && at >= w->r[REG_SP])
		s->rbx_at = at;
}

/* A leaf's frame, where its return address is in a register: as in vfork(). */
static __always_inline bool may_be_empty(const struct walk *w, const struct unw_rule *r)
{
	return w->is_exact && (r->ra == UNW_IN_REG || (HAS_LINK && r->ra == UNW_SAME));
}

/* SP is unknown. x29 points to the record in every function that saves it with x30, by convention;
 * the rule says how far that is from the CFA. */
static __always_inline uint8_t step_record(struct walk *w, const struct unw_rule *r, struct step *s,
					   const enum walk_way way, struct task_struct *task)
{
	if (r->cfa != UNW_CFA_REG || r->cfa_reg != REG_SP || r->fp != UNW_AT_CFA ||
	    r->ra != UNW_AT_CFA || r->ra_off != r->fp_off + 8 || !step_fp(w, s, way, task))
		return UNW_STOP_REGISTER;
	if (!s->ra)
		return UNW_STOP_FP_END;
	s->cfa = w->r[REG_FP] - (uint64_t)(int64_t)r->fp_off;
	s->has_no_sp = false;
	return (s->cfa & 7 || s->cfa < w->r[REG_SP]) ? UNW_STOP_BAD_CFA : UNW_STOP_NONE;
}

static __always_inline uint8_t step_rule(struct walk *w, const struct unw_rule *r, struct step *s,
					 const enum walk_way way, struct task_struct *task)
{
	const struct saved fp = {r->fp, r->fp_reg, r->fp_off}, ra = {r->ra, r->ra_reg, r->ra_off};
	uint8_t stop;

	if (r->ra == UNW_UNDEFINED)
		return UNW_STOP_OUTERMOST;
	if (r->flags & UNW_SIGNAL && r->ra == UNW_AT_REG && r->ra_reg == REG_SP &&
	    r->ra_off == SIGRETURN_REGS + 8 * SIGNAL_PC)
		return step_sigreturn(w, s, way, task);
	if (r->cfa_reg == UNW_RBX || r->ra_reg == UNW_RBX || r->fp_reg == UNW_RBX)
		recall_rbx(w, way, task);
	stop = get_cfa(w, r, &s->cfa, way, task);
	if (HAS_LINK && stop == UNW_STOP_REGISTER)
		return step_record(w, r, s, way, task);
	if (stop)
		return stop;
	s->is_signal = r->flags & UNW_SIGNAL;
	follow_rbx(w, r, s);
	if (s->cfa & 7 || (s->cfa < w->r[REG_SP] + !may_be_empty(w, r) && !s->is_signal))
		return UNW_STOP_BAD_CFA;
	s->keeps_fp = r->fp != UNW_UNDEFINED && (w->known >> REG_FP & 1 || r->fp != UNW_SAME);
	s->fp = w->r[REG_FP];
	if (r->fp != UNW_UNDEFINED && r->fp != UNW_SAME) {
		/* The lower of the two first: both are in one window then. Without it the walk
		 * continues as long as it can. */
		if (get_saved(w, &fp, s->cfa, &s->fp, way, task))
			s->keeps_fp = false;
	}
	s->method = r->origin;
	if (r->ra == UNW_SAME)
		return HAS_LINK && get_reg(w, REG_LINK, &s->ra) ? UNW_STOP_NONE : UNW_STOP_REGISTER;
	return get_saved(w, &ra, s->cfa, &s->ra, way, task);
}

/* The first return of clone() or clone3() in the child: it has no caller. */
static __always_inline bool is_new_thread(const struct walk *w)
{
	uint64_t nr = syscall_of(&w->regs);

	return w->out.nr == 1 && !result_of(&w->regs) && (nr == CLONE || nr == CLONE3);
}

/* Code without rules. */
static __always_inline uint8_t step_bare(struct walk *w, struct walk_vma *v, struct step *s,
					 const enum walk_way way, struct task_struct *task)
{
	if (step_top(w, v, s, way, task) || step_fp(w, s, way, task))
		return UNW_STOP_NONE;
	if (w->known >> REG_FP & 1 && !w->r[REG_FP] && w->origin == UNW_FP)
		return UNW_STOP_FP_END;
	return is_new_thread(w) ? UNW_STOP_OUTERMOST : UNW_STOP_NO_INFO;
}

static __always_inline bool is_after_call(struct walk *w, const enum walk_way way,
					  struct task_struct *task)
{
	uint64_t code = 0;

	return !read_user(w, way, &code, sizeof(code), w->pc - 8, task) && is_call(code);
}

/* Of the frame that was put last: it is looked up at its address itself. Made again it changes
 * nothing. */
static __always_inline void mark_exact(struct walk *w)
{
	uint32_t n = w->out.nr - 1u;

	w->uniform = CB_MIXED;
	if ((n & 15) == 15)
		w->methods[(n >> 4) & (CB_MAX_DEPTH / 16 - 1)] |= (uint64_t)CB_EXACT << 60;
	else
		w->method_word |= (uint64_t)CB_EXACT << ((n & 15) * 4);
}

static __always_inline uint8_t step_of(struct walk *w, struct step *s, const enum walk_way way,
				       struct task_struct *task)
{
	struct walk_vma *v = &w->vmas[w->vma & (NR_VMAS - 1)];
	struct unw_rule r;

	if (w->is_sigreturn)
		return step_sigreturn(w, s, way, task);
	if (w->is_busy_vma)
		return UNW_STOP_MAPS_BUSY;
	if (v->code == WALK_NO_TABLE_YET)
		return UNW_STOP_NO_TABLE_YET;
	if (v->code != WALK_TABLE)
		return step_bare(w, v, s, way, task);
	if (!rule_at(v, w->is_exact ? w->pc : w->pc - 1, &r))
		return UNW_STOP_NO_TABLE_YET;
	if (r.cfa == UNW_CFA_NONE && !w->is_exact) {
		/* No call returns there: it may be the start of the sigreturn code, or what
		 * makecontext() leads to. */
		struct unw_rule exact;

		if (!rule_at(v, w->pc, &exact))
			return UNW_STOP_NO_TABLE_YET;
		if (exact.flags & UNW_SIGNAL ||
		    (exact.cfa != UNW_CFA_NONE && !is_after_call(w, way, task))) {
			r = exact;
			mark_exact(w);
		}
	} else if (r.flags & UNW_SIGNAL && !w->is_exact) {
		mark_exact(w);
	}
	if (r.cfa != UNW_CFA_NONE)
		return step_rule(w, &r, s, way, task);
	w->why = r.why;
	if (r.why != UNW_WHY_GAP)
		return UNW_STOP_UNREPRESENTABLE;
	return step_bare(w, v, s, way, task);
}

#endif
