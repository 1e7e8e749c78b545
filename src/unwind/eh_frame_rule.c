/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_impl.h"

enum { S390X_CFA_OVER_SP = 160 };

/** Where a register's caller value is, while rules are made. */
struct place {
	bool is_known;
	enum unw_why why; /* of one that is not */
	uint8_t loc, reg;
	int32_t off;
};

static struct place unknown(enum unw_why why)
{
	return (struct place){.why = why};
}

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static struct place place_of(enum unw_loc loc, uint64_t reg, int64_t off)
{
	if (reg >= UNW_MAX_REGS || !fits(off))
		return unknown(UNW_WHY_REGISTER);
	return (struct place){true, 0, (uint8_t)loc, (uint8_t)reg, (int32_t)off};
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t v;

	return __builtin_add_overflow(a, b, &v) ? INT64_MAX : v;
}

/** The value CFA + off: held by a register where the CFA is. */
static struct place value_of_cfa(const struct eh_form *cfa, int64_t off)
{
	if (cfa->kind != EH_OF_REG)
		return unknown(UNW_WHY_REGISTER);
	return place_of(UNW_IN_REG, cfa->reg, sum(cfa->off, off));
}

/** Saved at the address @p at. */
static struct place saved_at(const struct eh_form *cfa, const struct eh_form *at)
{
	if (at->kind == EH_OF_REG)
		return place_of(UNW_AT_REG, at->reg, at->off);
	if (at->kind == EH_OF_CFA)
		return place_of(UNW_AT_CFA, 0, at->off);
	if (at->kind == EH_DEREF_REG && cfa->kind == EH_DEREF_REG && at->reg == cfa->reg &&
	    at->off == cfa->off && fits(at->off2) && fits(cfa->off2))
		return place_of(UNW_AT_CFA, 0, at->off2 - cfa->off2);
	return unknown(UNW_WHY_EXPRESSION);
}

static struct place value_is(const struct eh_form *cfa, const struct eh_form *v)
{
	if (v->kind == EH_OF_REG)
		return place_of(UNW_IN_REG, v->reg, v->off);
	if (v->kind == EH_OF_CFA)
		return value_of_cfa(cfa, v->off);
	if (v->kind == EH_DEREF_REG && !v->off2)
		return place_of(UNW_AT_REG, v->reg, v->off);
	if (v->kind == EH_DEREF_CFA && !v->off2)
		return place_of(UNW_AT_CFA, 0, v->off);
	return unknown(UNW_WHY_EXPRESSION);
}

/** Of a register with a rule. @p own: its number. */
static struct place place_by_rule(const struct eh_reg *r, uint64_t own, const struct eh_form *cfa)
{
	switch (r->kind) {
	case EH_DEFAULT:
	case EH_SAME:
		return place_of(UNW_SAME, 0, 0);
	case EH_UNDEFINED:
		return place_of(UNW_UNDEFINED, 0, 0);
	case EH_OFFSET:
		return place_of(UNW_AT_CFA, 0, r->off);
	case EH_VAL_OFFSET:
		return value_of_cfa(cfa, r->off);
	case EH_REGISTER:
		return r->reg == own ? place_of(UNW_SAME, 0, 0) : place_of(UNW_IN_REG, r->reg, 0);
	case EH_EXPRESSION:
		return saved_at(cfa, &r->form);
	case EH_VAL_EXPRESSION:
		return value_is(cfa, &r->form);
	}
	return unknown(UNW_WHY_BAD);
}

static struct place ra_place(const struct eh_state *s, const struct eh_cie *cie,
			     const struct eh_form *cfa, const struct eh_target *t)
{
	struct place p = place_by_rule(&s->regs[EH_RA], cie->ra_reg, cfa);

	if (!p.is_known || p.loc != UNW_SAME)
		return p;
	if (cie->ra_reg == t->pc) /* the pc is no return address */
		return unknown(UNW_WHY_REGISTER);
	return cie->ra_reg == t->ra ? p : place_of(UNW_IN_REG, cie->ra_reg, 0);
}

static bool same_form(const struct eh_form *a, const struct eh_form *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->off == b->off && a->off2 == b->off2;
}

/**
 * The caller's SP is the CFA in every rule of ours (s390x: 160 below). Does the SP's own rule say
 * the same? *ret_why: why not. s390x saves it in the register save area, or, in leaf functions, in
 * a floating-point register: by its ABI that is such a value.
 */
static bool sp_is_cfa(const struct eh_state *s, const struct eh_form *cfa,
		      const struct eh_target *t, enum unw_why *ret_why)
{
	const struct eh_reg *sp = &s->regs[EH_SP];
	bool is_s390x = t->arch == UNW_S390X;
	struct eh_form slot = {EH_OF_REG, cfa->reg, cfa->off, 0};

	*ret_why = UNW_WHY_REGISTER;
	switch (sp->kind) {
	case EH_DEFAULT:
		return true;
	case EH_OFFSET:
	case EH_SAME:
		return is_s390x;
	case EH_VAL_OFFSET:
		return sp->off == (is_s390x ? -S390X_CFA_OVER_SP : 0);
	case EH_REGISTER:
		return is_s390x || (cfa->kind == EH_OF_REG && cfa->reg == sp->reg && !cfa->off);
	case EH_EXPRESSION:
		*ret_why = UNW_WHY_EXPRESSION;
		return cfa->kind == EH_DEREF_REG && !cfa->off2 && same_form(&sp->form, &slot);
	case EH_VAL_EXPRESSION:
		*ret_why = UNW_WHY_EXPRESSION;
		return same_form(&sp->form, cfa) || (sp->form.kind == EH_OF_CFA && !sp->form.off);
	case EH_UNDEFINED:
		break;
	}
	return false;
}

static struct eh_form cfa_form(const struct eh_state *s)
{
	if (s->cfa.kind == EH_REGISTER)
		return (struct eh_form){EH_OF_REG, s->cfa.reg, s->cfa.off, 0};
	return s->cfa.form;
}

/** @return false: not a CFA of ours. */
static bool set_cfa(struct unw_rule *r, const struct eh_form *cfa)
{
	switch (cfa->kind) {
	case EH_OF_REG:
		r->cfa = UNW_CFA_REG;
		break;
	case EH_DEREF_REG:
		r->cfa = UNW_CFA_DEREF;
		break;
	case EH_PLT:
		r->cfa = UNW_CFA_PLT;
		break;
	case EH_INDEX:
		r->cfa = UNW_CFA_INDEX;
		break;
	case EH_NO_FORM:
	case EH_CONST:
	case EH_OF_CFA:
	case EH_DEREF_CFA:
		return false;
	}
	if (cfa->reg >= UNW_MAX_REGS || !fits(cfa->off) || !fits(cfa->off2))
		return false;
	r->cfa_reg = (uint8_t)cfa->reg;
	r->cfa_off = (int32_t)cfa->off;
	r->cfa_off2 = (int32_t)cfa->off2;
	return true;
}

static struct unw_rule no_rule(const struct eh_target *t, enum unw_why why)
{
	return (struct unw_rule){.origin = (uint8_t)t->origin & 15u, .why = (uint8_t)why & 15u};
}

static enum unw_why why_no_cfa(const struct eh_state *s)
{
	if (s->cfa.kind == EH_DEFAULT)
		return UNW_WHY_BAD;
	return s->cfa.kind == EH_REGISTER ? UNW_WHY_REGISTER : UNW_WHY_EXPRESSION;
}

static uint8_t flags_of(const struct eh_state *s, const struct eh_cie *cie)
{
	unsigned int flags = cie->is_signal ? UNW_SIGNAL : 0;

	if (s->is_signed)
		flags |= UNW_RA_SIGNED | (cie->is_key_b ? (unsigned int)UNW_KEY_B : 0);
	return (uint8_t)flags;
}

/** Only the plainest CFA has room for where rbx is saved; that is nearly every row. */
static void set_rbx(struct unw_rule *r, const struct eh_state *s, const struct eh_form *cfa,
		    const struct eh_target *t)
{
	struct place p = place_by_rule(&s->regs[EH_RBX], t->rbx, cfa);
	int64_t off = p.off;

	if (p.is_known && p.loc == UNW_SAME)
		return;
	if (p.loc == UNW_AT_REG && p.reg == r->cfa_reg) {
		p.loc = UNW_AT_CFA;
		off -= r->cfa_off;
	}
	if (r->cfa == UNW_CFA_REG && p.is_known && p.loc == UNW_AT_CFA && off && fits(off))
		r->cfa_off2 = (int32_t)off;
	else
		r->flags |= UNW_RBX_LOST;
}

/**
 * No function saves its return address above its own frame. glibc's _dl_runtime_resolve of aarch64
 * says it does: its CFA lacks the two words that the first entry of the PLT has pushed.
 */
static void mend_cfa(struct unw_rule *r, const struct eh_target *t)
{
	enum { PUSHED = 16 };

	if (r->cfa != UNW_CFA_REG || r->cfa_reg != t->sp || r->ra != UNW_AT_CFA || r->ra_off != 8 ||
	    r->flags & UNW_SIGNAL || r->cfa_off > INT32_MAX - PUSHED)
		return;
	r->cfa_off += PUSHED;
	r->ra_off -= PUSHED;
	if (r->fp == UNW_AT_CFA && r->fp_off >= INT32_MIN + PUSHED)
		r->fp_off -= PUSHED;
}

struct unw_rule eh_rule_of(const struct eh_state *s, const struct eh_cie *cie,
			   const struct eh_target *t, bool *ret_fp_lost)
{
	struct unw_rule r = {.origin = (uint8_t)t->origin & 15u};
	struct eh_form cfa = cfa_form(s);
	struct place ra, fp;
	enum unw_why why;

	*ret_fp_lost = false;
	if (!set_cfa(&r, &cfa))
		return no_rule(t, why_no_cfa(s));
	ra = ra_place(s, cie, &cfa, t);
	if (!ra.is_known)
		return no_rule(t, ra.why);
	if (ra.loc != UNW_UNDEFINED && !sp_is_cfa(s, &cfa, t, &why))
		return no_rule(t, why);
	fp = place_by_rule(&s->regs[EH_FP], t->fp, &cfa);
	if (!fp.is_known) {
		*ret_fp_lost = true;
		fp = place_of(UNW_UNDEFINED, 0, 0);
	}
	if (cfa.kind == EH_INDEX && ra.loc != UNW_AT_CFA)
		return no_rule(t, UNW_WHY_EXPRESSION);
	r.ra = ra.loc;
	r.ra_reg = cfa.kind == EH_INDEX ? cfa.index : ra.reg;
	r.ra_off = ra.off;
	r.fp = fp.loc;
	r.fp_reg = fp.reg;
	r.fp_off = fp.off;
	r.flags = flags_of(s, cie);
	if (ra.loc != UNW_UNDEFINED)
		set_rbx(&r, s, &cfa, t);
	if (t->arch == UNW_AARCH64)
		mend_cfa(&r, t);
	return r;
}
