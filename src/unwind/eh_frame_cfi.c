/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_impl.h"
#include "unwind/unw_list.h"

/* DW_CFA_ numbers. Spec: DWARF 5 "Call Frame Instruction Encodings"; LSB; psABI of aarch64. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* elsewhere GNU_window_save of SPARC */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	MAX_REMEMBERED = 32,
	EH_DATA_REGS = 3, /* bits of rax and rdx of x86-64 */
	HANDOVER_REG = 2  /* rcx */
};

/** A run of instructions. */
struct run {
	const struct eh_cie *cie;
	const struct eh_target *t;
	struct eh_state state;
	unsigned int depth; /* of the stack */
	bool is_cie;
	bool is_changed; /* since the last row */
	bool is_over;    /* past the function's end */
	enum unw_why why;
	uint64_t loc;
	/* of an FDE */
	uint64_t row_at; /* of the last row, */
	struct unw_rule row_rule;
	uint64_t handover;         /* and where x86-64's eh_return takes rcx for CFA; 0: nowhere */
	unsigned int eh_data_regs; /* those saved for it */
	uint64_t handover_row;     /* the row before that */
	struct unw_rule handover_rule;
	const struct eh_extent *extent;
	struct unw_list *list;
	struct eh_frame_counts *counts;
	struct eh_state stack[MAX_REMEMBERED]; /* last: run_init() leaves it */
};

static void run_init(struct run *r, const struct eh_cie *cie, const struct eh_target *t)
{
	/* Not the stack of 32 states: functions are many. */
	memset(r, 0, offsetof(struct run, stack));
	r->cie = cie;
	r->t = t;
}

static bool fail(struct run *r, enum unw_why why)
{
	r->why = why;
	return false;
}

static void put_row(struct run *r, const struct unw_rule *rule)
{
	uint64_t rel = r->extent->rel - r->extent->start, from;

	unw_list_row(r->list, rel + r->loc, rule);
	r->counts->nr_rows++;
	if (r->t->arch == UNW_X86_64 && rule->cfa != UNW_CFA_NONE && rule->fp == UNW_AT_REG &&
	    rule->fp_reg == r->t->fp && eh_fp_is_popped(r->t->image, r->loc, &from)) {
		struct unw_rule popped = *rule;

		popped.fp = UNW_SAME;
		unw_list_row(r->list, rel + from, &popped);
		r->counts->nr_rows++;
	}
	if (rule->cfa == UNW_CFA_NONE)
		r->counts->nr_unrepresented[rule->why & 7]++;
}

static void end_row(struct run *r)
{
	struct unw_rule rule;
	bool is_lost;

	if (r->is_cie || !r->is_changed)
		return;
	rule = eh_rule_of(&r->state, r->cie, r->t, &is_lost);
	r->counts->nr_fp_lost += is_lost;
	if (r->eh_data_regs == EH_DATA_REGS && !r->handover && rule.cfa == UNW_CFA_REG &&
	    rule.cfa_reg == HANDOVER_REG) {
		r->handover = r->loc;
		r->handover_row = r->row_at;
		r->handover_rule = r->row_rule;
	}
	/* The way into the handler: its address does not follow a call. */
	if (r->handover && rule.cfa == UNW_CFA_REG && rule.cfa_reg != r->t->fp)
		rule.flags |= UNW_SIGNAL;
	put_row(r, &rule);
	r->is_changed = false;
	r->row_at = r->loc;
	r->row_rule = rule;
}

static bool go_to(struct run *r, uint64_t loc)
{
	if (r->is_cie || loc < r->loc)
		return fail(r, UNW_WHY_BAD);
	if (loc == r->loc)
		return true;
	end_row(r);
	r->loc = loc;
	r->is_over = loc >= r->extent->end;
	return true;
}

static bool advance(struct run *r, bool ok, uint64_t delta)
{
	uint64_t bytes, loc;

	if (!ok || __builtin_mul_overflow(delta, r->cie->code_align, &bytes) ||
	    __builtin_add_overflow(r->loc, bytes, &loc))
		return fail(r, UNW_WHY_BAD);
	return go_to(r, loc);
}

static bool set_loc(struct run *r, struct bytes *b)
{
	uint64_t loc;

	if (r->cie->encoding & EH_PE_INDIRECT ||
	    !eh_pointer(b, r->cie->encoding, &r->t->bases, &loc))
		return fail(r, UNW_WHY_BAD);
	return go_to(r, loc);
}

static struct eh_reg *slot_of(struct run *r, uint64_t reg)
{
	if (reg == r->cie->ra_reg)
		return &r->state.regs[EH_RA];
	if (reg == r->t->fp)
		return &r->state.regs[EH_FP];
	if (reg == r->t->sp)
		return &r->state.regs[EH_SP];
	if (reg == r->t->rbx)
		return &r->state.regs[EH_RBX];
	return NULL;
}

/** A rule for a register, read whole; those that do not matter end here. */
static bool set_reg(struct run *r, bool ok, uint64_t reg, struct eh_reg value)
{
	struct eh_reg *slot;

	if (!ok)
		return fail(r, UNW_WHY_BAD);
	slot = slot_of(r, reg);
	if (slot) {
		*slot = value;
		r->is_changed = true;
	} else if (reg < 2 && value.kind == EH_OFFSET && r->t->arch == UNW_X86_64) {
		r->eh_data_regs |= 1u << reg;
	}
	return true;
}

static int64_t factored(const struct run *r, uint64_t n)
{
	return (int64_t)(n * (uint64_t)r->cie->data_align);
}

static bool set_offset(struct run *r, bool ok, uint64_t reg, uint64_t n, enum eh_kind kind)
{
	return set_reg(r, ok, reg, (struct eh_reg){.kind = kind, .off = factored(r, n)});
}

static bool restore(struct run *r, bool ok, uint64_t reg)
{
	struct eh_reg *slot;

	if (!ok || r->is_cie)
		return fail(r, UNW_WHY_BAD);
	slot = slot_of(r, reg);
	if (slot) {
		*slot = r->cie->initial.regs[slot - r->state.regs];
		r->is_changed = true;
	}
	return true;
}

static bool remember(struct run *r)
{
	if (r->depth == MAX_REMEMBERED)
		return fail(r, UNW_WHY_OVERFLOW);
	r->stack[r->depth++] = r->state;
	return true;
}

static bool recall(struct run *r)
{
	if (!r->depth)
		return fail(r, UNW_WHY_BAD);
	r->state = r->stack[--r->depth];
	r->is_changed = true;
	return true;
}

static bool def_cfa(struct run *r, bool ok, uint64_t reg, int64_t off)
{
	if (!ok)
		return fail(r, UNW_WHY_BAD);
	r->state.cfa = (struct eh_reg){.kind = EH_REGISTER, .reg = reg, .off = off};
	r->is_changed = true;
	return true;
}

static bool def_cfa_register(struct run *r, bool ok, uint64_t reg)
{
	return def_cfa(r, ok && r->state.cfa.kind == EH_REGISTER, reg, r->state.cfa.off);
}

static bool def_cfa_offset(struct run *r, bool ok, int64_t off)
{
	return def_cfa(r, ok && r->state.cfa.kind == EH_REGISTER, r->state.cfa.reg, off);
}

static bool take_block(struct bytes *b, struct bytes *ret)
{
	uint64_t n;

	return eh_uleb(b, &n) && bytes_take(b, n, ret);
}

static bool def_cfa_expression(struct run *r, struct bytes *b)
{
	struct bytes expr;

	if (!take_block(b, &expr))
		return fail(r, UNW_WHY_BAD);
	r->state.cfa =
		(struct eh_reg){.kind = EH_VAL_EXPRESSION, .form = eh_form_of(expr, false, r->t)};
	r->is_changed = true;
	return true;
}

static bool set_expression(struct run *r, struct bytes *b, enum eh_kind kind)
{
	struct eh_reg v = {.kind = kind};
	struct bytes expr;
	uint64_t reg = 0;
	bool ok = eh_uleb(b, &reg) && take_block(b, &expr);

	if (ok)
		v.form = eh_form_of(expr, true, r->t);
	return set_reg(r, ok, reg, v);
}

static bool negate_ra_state(struct run *r)
{
	if (r->t->arch != UNW_AARCH64)
		return fail(r, UNW_WHY_OPCODE);
	r->state.is_signed = !r->state.is_signed;
	r->is_changed = true;
	return true;
}

static bool step_advance(struct run *r, struct bytes *b, uint8_t op)
{
	bool swap = r->t->bases.is_swapped, ok;
	uint8_t v8 = 0;
	uint16_t v16 = 0;
	uint32_t v32 = 0;
	uint64_t v64 = 0;

	switch (op) {
	case CFA_ADVANCE_LOC1:
		ok = bytes_u8(b, &v8);
		return advance(r, ok, v8);
	case CFA_ADVANCE_LOC2:
		ok = bytes_u16(b, swap, &v16);
		return advance(r, ok, v16);
	case CFA_ADVANCE_LOC4:
		ok = bytes_u32(b, swap, &v32);
		return advance(r, ok, v32);
	default:
		ok = bytes_u64(b, swap, &v64);
		return advance(r, ok, v64);
	}
}

static bool step_cfa(struct run *r, struct bytes *b, uint8_t op)
{
	uint64_t reg = 0, off = 0;
	int64_t sf = 0;
	bool ok;

	switch (op) {
	case CFA_DEF_CFA:
		ok = eh_uleb(b, &reg) && eh_uleb(b, &off);
		return def_cfa(r, ok, reg, (int64_t)off);
	case CFA_DEF_CFA_SF:
		ok = eh_uleb(b, &reg) && eh_sleb(b, &sf);
		return def_cfa(r, ok, reg, factored(r, (uint64_t)sf));
	case CFA_DEF_CFA_REGISTER:
		ok = eh_uleb(b, &reg);
		return def_cfa_register(r, ok, reg);
	case CFA_DEF_CFA_OFFSET:
		ok = eh_uleb(b, &off);
		return def_cfa_offset(r, ok, (int64_t)off);
	case CFA_DEF_CFA_OFFSET_SF:
		ok = eh_sleb(b, &sf);
		return def_cfa_offset(r, ok, factored(r, (uint64_t)sf));
	default:
		return def_cfa_expression(r, b);
	}
}

static bool step_reg(struct run *r, struct bytes *b, uint8_t op)
{
	uint64_t reg = 0, v = 0;
	int64_t sf = 0;
	bool ok = eh_uleb(b, &reg);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		ok = ok && eh_uleb(b, &v);
		return set_offset(r, ok, reg, v, EH_OFFSET);
	case CFA_OFFSET_EXTENDED_SF:
		ok = ok && eh_sleb(b, &sf);
		return set_offset(r, ok, reg, (uint64_t)sf, EH_OFFSET);
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		ok = ok && eh_uleb(b, &v);
		return set_offset(r, ok, reg, 0 - v, EH_OFFSET);
	case CFA_VAL_OFFSET:
		ok = ok && eh_uleb(b, &v);
		return set_offset(r, ok, reg, v, EH_VAL_OFFSET);
	case CFA_VAL_OFFSET_SF:
		ok = ok && eh_sleb(b, &sf);
		return set_offset(r, ok, reg, (uint64_t)sf, EH_VAL_OFFSET);
	case CFA_REGISTER:
		ok = ok && eh_uleb(b, &v);
		return set_reg(r, ok, reg, (struct eh_reg){.kind = EH_REGISTER, .reg = v});
	case CFA_UNDEFINED:
		return set_reg(r, ok, reg, (struct eh_reg){.kind = EH_UNDEFINED});
	case CFA_SAME_VALUE:
		return set_reg(r, ok, reg, (struct eh_reg){.kind = EH_SAME});
	default:
		return restore(r, ok, reg);
	}
}

static bool step_extended(struct run *r, struct bytes *b, uint8_t op)
{
	uint64_t ignored;

	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC:
		return set_loc(r, b);
	case CFA_ADVANCE_LOC1:
	case CFA_ADVANCE_LOC2:
	case CFA_ADVANCE_LOC4:
	case CFA_MIPS_ADVANCE_LOC8:
		return step_advance(r, b, op);
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_DEF_CFA_EXPRESSION:
		return step_cfa(r, b, op);
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_REGISTER:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
	case CFA_RESTORE_EXTENDED:
		return step_reg(r, b, op);
	case CFA_EXPRESSION:
		return set_expression(r, b, EH_EXPRESSION);
	case CFA_VAL_EXPRESSION:
		return set_expression(r, b, EH_VAL_EXPRESSION);
	case CFA_REMEMBER_STATE:
		return remember(r);
	case CFA_RESTORE_STATE:
		return recall(r);
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return negate_ra_state(r);
	case CFA_GNU_ARGS_SIZE:
		return eh_uleb(b, &ignored) || fail(r, UNW_WHY_BAD);
	default:
		return fail(r, UNW_WHY_OPCODE);
	}
}

static bool step(struct run *r, struct bytes *b)
{
	uint8_t op = *b->pos++;
	uint64_t v = 0;
	bool ok;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance(r, true, op & 0x3f);
	case CFA_OFFSET:
		ok = eh_uleb(b, &v);
		return set_offset(r, ok, op & 0x3f, v, EH_OFFSET);
	case CFA_RESTORE:
		return restore(r, true, op & 0x3f);
	default:
		return step_extended(r, b, op);
	}
}

static bool run_all(struct run *r, struct bytes program)
{
	while (bytes_left(&program) && !r->is_over) {
		if (!step(r, &program))
			return false;
	}
	return true;
}

void eh_run_cie(struct eh_cie *cie, const struct eh_target *t, struct bytes program)
{
	struct run r;

	run_init(&r, cie, t);
	r.is_cie = true;
	cie->is_whole = run_all(&r, program);
	cie->why = cie->is_whole ? UNW_WHY_GAP : r.why;
	cie->initial = r.state;
}

/** The rules are unknown from here to the function's end. */
static void give_up(struct run *r, enum unw_why why)
{
	struct unw_rule rule = {.origin = (uint8_t)r->t->origin & 15u, .why = (uint8_t)why & 15u};

	put_row(r, &rule);
}

/** While an exception handler is entered, the saved registers are not the caller's any more. So the
 * end of the row before the handover becomes a separate function within this one. */
static void forget_saved(struct run *r)
{
	uint64_t start = r->extent->start, rel = r->extent->rel;
	struct unw_rule rule = r->handover_rule;
	struct unw_rule none = {.origin = (uint8_t)r->t->origin & 15u, .why = UNW_WHY_EH_RETURN};
	struct eh_return e;
	bool has_rule;

	if (!eh_return_find(r->t->image, start, r->handover_row, r->handover, &e))
		return;
	has_rule = e.has_ra && rule.cfa == UNW_CFA_REG && rule.cfa_reg == r->t->fp;
	/* Callers are looked up in their call. */
	unw_list_begin(r->list, rel + ((has_rule ? e.call : e.after) - start),
		       rel + (r->handover - start));
	if (has_rule) {
		rule.ra = UNW_AT_REG;
		rule.ra_reg = rule.cfa_reg;
		rule.ra_off = e.ra_off;
		rule.fp = UNW_UNDEFINED;
		rule.cfa_off2 = 0;
		rule.flags |= UNW_RBX_LOST;
		unw_list_row(r->list, rel + (e.call - start), &rule);
		r->counts->nr_rows++;
	}
	unw_list_row(r->list, rel + ((has_rule ? e.handing_over : e.after) - start), &none);
	r->counts->nr_rows++;
	r->counts->nr_unrepresented[UNW_WHY_EH_RETURN]++;
}

void eh_run_fde(const struct eh_cie *cie, const struct eh_target *t, const struct eh_extent *extent,
		struct bytes program, struct unw_list *ret, struct eh_frame_counts *counts)
{
	struct run r;

	run_init(&r, cie, t);
	r.state = cie->initial;
	r.is_changed = true;
	r.loc = r.row_at = extent->start;
	r.extent = extent;
	r.list = ret;
	r.counts = counts;
	unw_list_begin(ret, extent->rel, extent->rel + (extent->end - extent->start));
	counts->nr_functions++;
	if (!cie->is_whole)
		give_up(&r, cie->why);
	else if (!run_all(&r, program))
		give_up(&r, r.why);
	else if (!r.is_over)
		end_row(&r);
	if (r.handover && counts->nr_eh_returns++ < EH_MAX_RETURNS)
		forget_saved(&r);
}
