/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random call frame information with known rules, because a model keeps them while the bytes are
 * made: encoded in any of the ways there are, compiled, and compared at every row.
 */
#include "base/mem.h"
#include "make/cfi_build.h"
#include "make/splitmix.h"
#include "unit/tap.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_frame_hdr.h"

enum { TEXT = 0x40000, TEXT_BYTES = 0x40000, SECTION = 0x200000, ROUNDS = 1500, MAX_ROWS = 4000 };

static uint64_t seed = 3;

static uint32_t below(uint32_t n)
{
	return (uint32_t)splitmix64(&seed) % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

/** What a register's rule is, in the model's words. */
struct model_reg {
	enum { DEFAULT, SAME, UNDEFINED, AT_CFA, CFA_PLUS, IN_REG, AT_REG, ODD } kind;
	unsigned int reg;
	int32_t off;
};

struct model {
	enum { NO_CFA, REG, DEREF, PLT, ODD_CFA } cfa;
	unsigned int cfa_reg;
	int32_t cfa_off, cfa_off2;
	struct model_reg fp, ra, rbx;
	bool is_signed;
};

struct maker {
	enum unw_arch arch;
	unsigned int fp, sp, ra;
	struct cfi_build c;
	struct cfi_cie cie;
	struct model initial, now, stack[32];
	unsigned int depth;
	struct buf program;
	uint64_t loc;
	bool is_cie;
};

/* What must come out. */
static struct {
	uint64_t rel;
	struct unw_rule rule;
} want[MAX_ROWS];
static size_t nr_want;

static bool set_reg(struct unw_rule *r, const struct model *m, const struct model_reg *reg,
		    uint8_t *ret_loc, uint8_t *ret_reg, int32_t *ret_off)
{
	(void)r;
	*ret_reg = 0;
	*ret_off = 0;
	switch (reg->kind) {
	case DEFAULT:
	case SAME:
		*ret_loc = UNW_SAME;
		return true;
	case UNDEFINED:
		*ret_loc = UNW_UNDEFINED;
		return true;
	case AT_CFA:
		*ret_loc = UNW_AT_CFA;
		*ret_off = reg->off;
		return true;
	case CFA_PLUS:
		*ret_loc = UNW_IN_REG;
		*ret_reg = (uint8_t)m->cfa_reg;
		*ret_off = m->cfa_off + reg->off;
		return m->cfa == REG;
	case IN_REG:
	case AT_REG:
		*ret_loc = reg->kind == IN_REG ? UNW_IN_REG : UNW_AT_REG;
		*ret_reg = (uint8_t)reg->reg;
		*ret_off = reg->off;
		return true;
	case ODD:
		break;
	}
	return false;
}

static void set_rbx(struct unw_rule *r, const struct model *m)
{
	uint8_t loc = 0, reg = 0;
	int32_t off = 0;
	bool is_known = set_reg(r, m, &m->rbx, &loc, &reg, &off);

	if (is_known && loc == UNW_SAME)
		return;
	if (loc == UNW_AT_REG && reg == m->cfa_reg) {
		off -= m->cfa_off;
		loc = UNW_AT_CFA;
	}
	if (is_known && m->cfa == REG && loc == UNW_AT_CFA && off)
		r->cfa_off2 = off;
	else
		r->flags |= UNW_RBX_LOST;
}

/* aarch64: x30 stands above the CFA only where that is 16 too low, as in glibc. */
static void mend_cfa(const struct maker *k, struct unw_rule *r)
{
	if (k->arch != UNW_AARCH64 || r->cfa != UNW_CFA_REG || r->cfa_reg != k->sp ||
	    r->ra != UNW_AT_CFA || r->ra_off != 8 || r->flags & UNW_SIGNAL)
		return;
	r->cfa_off += 16;
	r->ra_off = -8;
	r->fp_off -= r->fp == UNW_AT_CFA ? 16 : 0;
}

static struct unw_rule rule_of(const struct maker *k)
{
	const struct model *m = &k->now;
	struct unw_rule r = {.origin = UNW_EH_FRAME, .cfa_off = m->cfa_off};
	struct unw_rule none = {.origin = UNW_EH_FRAME};
	bool is_lost;

	r.cfa_reg = (uint8_t)m->cfa_reg;
	r.cfa = m->cfa == REG ? UNW_CFA_REG : m->cfa == DEREF ? UNW_CFA_DEREF : UNW_CFA_PLT;
	if (m->cfa == DEREF)
		r.cfa_off2 = m->cfa_off2;
	if (m->cfa == PLT)
		r.cfa_reg = 0;
	if (m->cfa == NO_CFA || m->cfa == ODD_CFA)
		return none;
	if (!set_reg(&r, m, &m->ra, &r.ra, &r.ra_reg, &r.ra_off))
		return none;
	if (r.ra == UNW_SAME && k->arch == UNW_X86_64)
		return none;
	is_lost = !set_reg(&r, m, &m->fp, &r.fp, &r.fp_reg, &r.fp_off);
	if (is_lost)
		r.fp = UNW_UNDEFINED, r.fp_reg = 0, r.fp_off = 0;
	if (m->is_signed)
		r.flags |= UNW_RA_SIGNED;
	if (strchr(k->cie.letters, 'S'))
		r.flags |= UNW_SIGNAL;
	if (m->is_signed && strchr(k->cie.letters, 'B'))
		r.flags |= UNW_KEY_B;
	if (k->arch == UNW_X86_64 && r.ra != UNW_UNDEFINED)
		set_rbx(&r, m);
	mend_cfa(k, &r);
	return r;
}

/* --- encoding --- */

static int32_t random_off(void)
{
	static const int32_t range[] = {16, 128, 4096, 1 << 20};
	int32_t n = range[below(4)];

	return ((int32_t)below((uint32_t)n) - n / 2) * 8;
}

static unsigned int random_reg(const struct maker *k)
{
	uint32_t pick = below(6);

	return pick < 2 ? k->sp : pick < 4 ? k->fp : below(UNW_MAX_REGS);
}

static void op_reg(struct buf *b, unsigned int op, uint64_t reg)
{
	cfi_u8(b, op);
	cfi_uleb(b, reg);
}

static void put_breg(struct buf *e, unsigned int reg, int64_t off)
{
	if (reg < 32 && !one_in(4)) {
		cfi_u8(e, 0x70 + reg);
	} else {
		cfi_u8(e, 0x92);
		cfi_uleb(e, reg);
	}
	cfi_sleb(e, off);
}

static void put_const(const struct maker *k, struct buf *e, int64_t v)
{
	bool swap = k->c.is_swapped;

	if (v >= 0 && v < 32 && one_in(2)) {
		cfi_u8(e, 0x30 + (unsigned int)v);
	} else if (v >= INT8_MIN && v <= INT8_MAX && one_in(2)) {
		cfi_u8(e, 0x09);
		cfi_fixed(e, (uint64_t)v, 1, swap);
	} else if (v >= INT16_MIN && v <= INT16_MAX && one_in(2)) {
		cfi_u8(e, 0x0b);
		cfi_fixed(e, (uint64_t)v, 2, swap);
	} else if (one_in(2)) {
		cfi_u8(e, 0x0d);
		cfi_fixed(e, (uint64_t)v, 4, swap);
	} else if (one_in(2)) {
		cfi_u8(e, one_in(2) ? 0x0e : 0x0f);
		cfi_fixed(e, (uint64_t)v, 8, swap);
	} else {
		cfi_u8(e, 0x11);
		cfi_sleb(e, v);
	}
}

/** Add @p v to the value on the stack, in one of the ways there are. */
static void put_add(const struct maker *k, struct buf *e, int64_t v)
{
	if (v >= 0 && one_in(2)) {
		cfi_u8(e, 0x23);
		cfi_uleb(e, (uint64_t)v);
	} else if (one_in(2)) {
		put_const(k, e, v);
		cfi_u8(e, 0x22);
	} else {
		put_const(k, e, -v);
		cfi_u8(e, 0x1c);
	}
	if (one_in(8))
		cfi_u8(e, 0x96);
}

static void put_sum(const struct maker *k, struct buf *e, unsigned int reg, int64_t off)
{
	int64_t part = one_in(3) ? random_off() : 0;

	put_breg(e, reg, off - part);
	if (part || one_in(8))
		put_add(k, e, part);
}

static void put_deref(struct buf *e)
{
	if (one_in(4)) {
		cfi_u8(e, 0x94);
		cfi_u8(e, 8);
	} else {
		cfi_u8(e, 0x06);
	}
}

static void put_odd(const struct maker *k, struct buf *e)
{
	put_sum(k, e, random_reg(k), random_off());
	switch (below(4)) {
	case 0:
		put_sum(k, e, k->fp, 0); /* the sum of two registers */
		cfi_u8(e, 0x22);
		break;
	case 1:
		cfi_u8(e, 0x06);
		cfi_u8(e, 0x06);
		break;
	case 2:
		cfi_u8(e, 0x33);
		cfi_u8(e, 0x24); /* shl */
		break;
	default:
		cfi_u8(e, 0x94);
		cfi_u8(e, 4);
		break;
	}
}

/** A factored operand: unsigned where it may be. @return false: only signed will do. */
static bool factor(const struct maker *k, int64_t off, int64_t *ret)
{
	*ret = off / k->cie.data_align;
	return *ret >= 0;
}

static void put_offset(struct maker *k, unsigned int reg, int64_t off)
{
	struct buf *b = &k->program;
	int64_t n;

	if (!factor(k, off, &n)) {
		if (one_in(3)) {
			op_reg(b, 0x2f, reg);
			cfi_uleb(b, (uint64_t)-n);
			return;
		}
		op_reg(b, 0x11, reg);
		cfi_sleb(b, n);
	} else if (reg < 64 && !one_in(4)) {
		cfi_u8(b, 0x80 + reg);
		cfi_uleb(b, (uint64_t)n);
	} else if (one_in(2)) {
		op_reg(b, 0x05, reg);
		cfi_uleb(b, (uint64_t)n);
	} else {
		op_reg(b, 0x11, reg);
		cfi_sleb(b, n);
	}
}

static void put_val_offset(struct maker *k, unsigned int reg, int64_t off)
{
	int64_t n;
	bool is_unsigned = factor(k, off, &n);

	op_reg(&k->program, is_unsigned && one_in(2) ? 0x14 : 0x15, reg);
	if (k->program.data[k->program.nr - (reg < 128 ? 2 : 3)] == 0x14)
		cfi_uleb(&k->program, (uint64_t)n);
	else
		cfi_sleb(&k->program, n);
}

static void change_cfa_reg(struct maker *k)
{
	struct buf *b = &k->program;
	struct model *m = &k->now;
	unsigned int reg = random_reg(k);
	int32_t off = random_off();

	if (m->cfa == REG && one_in(2)) {
		if (one_in(2)) {
			reg = m->cfa_reg;
		} else {
			off = m->cfa_off;
			op_reg(b, 0x0d, reg);
		}
		if (off != m->cfa_off && off >= 0 && one_in(2)) {
			cfi_u8(b, 0x0e);
			cfi_uleb(b, (uint64_t)off);
		} else if (off != m->cfa_off) {
			cfi_u8(b, 0x13);
			cfi_sleb(b, off / k->cie.data_align);
		}
	} else if (off >= 0 && one_in(2)) {
		op_reg(b, 0x0c, reg);
		cfi_uleb(b, (uint64_t)off);
	} else {
		op_reg(b, 0x12, reg);
		cfi_sleb(b, off / k->cie.data_align);
	}
	m->cfa = REG;
	m->cfa_reg = reg;
	m->cfa_off = off;
}

static void change_cfa_expression(struct maker *k)
{
	static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	struct model *m = &k->now;
	struct buf e = {0};

	m->cfa_reg = random_reg(k);
	m->cfa_off = random_off();
	m->cfa_off2 = 0;
	if (k->arch == UNW_X86_64 && one_in(5)) {
		m->cfa = PLT;
		m->cfa_off = (int32_t)below(16);
		buf_add(&e, plt, sizeof(plt));
		e.data[6] = (char)(0x30 + m->cfa_off);
	} else if (one_in(6)) {
		m->cfa = ODD_CFA;
		put_odd(k, &e);
	} else if (one_in(4)) {
		m->cfa = REG;
		put_sum(k, &e, m->cfa_reg, m->cfa_off);
	} else {
		m->cfa = DEREF;
		put_sum(k, &e, m->cfa_reg, m->cfa_off);
		put_deref(&e);
		if (one_in(2)) {
			m->cfa_off2 = random_off();
			put_add(k, &e, m->cfa_off2);
		}
	}
	cfi_u8(&k->program, 0x0f);
	cfi_block(&k->program, &e);
	buf_done(&e);
	if (m->cfa == REG) { /* by an expression: its register and offset cannot be changed alone */
		m->cfa = NO_CFA;
		change_cfa_reg(k);
	}
}

static void change_reg_expression(struct maker *k, unsigned int reg, struct model_reg *r)
{
	bool is_value = one_in(3);
	struct buf e = {0};

	r->off = random_off();
	r->reg = random_reg(k);
	if (one_in(5)) {
		r->kind = ODD;
		put_odd(k, &e);
		if (is_value) /* *(reg+off) is a value we know; a shifted one is not */
			cfi_u8(&e, 0x33), cfi_u8(&e, 0x24);
	} else if (one_in(3)) {
		r->kind = is_value ? CFA_PLUS : AT_CFA;
		put_add(k, &e, r->off);
	} else if (is_value && one_in(2)) {
		r->kind = AT_REG;
		put_sum(k, &e, r->reg, r->off);
		put_deref(&e);
	} else {
		r->kind = is_value ? IN_REG : AT_REG;
		put_sum(k, &e, r->reg, r->off);
	}
	op_reg(&k->program, is_value ? 0x16 : 0x10, reg);
	cfi_block(&k->program, &e);
	buf_done(&e);
}

static void change_reg(struct maker *k)
{
	bool is_fp = one_in(2), is_rbx = k->arch == UNW_X86_64 && one_in(3);
	unsigned int reg = is_rbx ? UNW_RBX : is_fp ? k->fp : k->ra;
	struct model_reg *r = is_rbx ? &k->now.rbx : is_fp ? &k->now.fp : &k->now.ra;

	switch (below(is_fp || is_rbx ? 7 : 12)) {
	case 0:
		r->kind = SAME;
		op_reg(&k->program, 0x08, reg);
		return;
	case 1:
		r->kind = UNDEFINED;
		op_reg(&k->program, 0x07, reg);
		return;
	case 2:
		r->kind = CFA_PLUS;
		r->off = random_off();
		put_val_offset(k, reg, r->off);
		return;
	case 3:
		do
			r->reg = random_reg(k);
		while (r->reg == reg);
		r->kind = IN_REG;
		r->off = 0;
		op_reg(&k->program, 0x09, reg);
		cfi_uleb(&k->program, r->reg);
		return;
	case 4:
		change_reg_expression(k, reg, r);
		return;
	default:
		r->kind = AT_CFA;
		r->off = random_off();
		put_offset(k, reg, r->off);
	}
}

static void restore(struct maker *k)
{
	bool is_fp = one_in(2), is_rbx = k->arch == UNW_X86_64 && one_in(3);
	unsigned int reg = is_rbx ? UNW_RBX : is_fp ? k->fp : k->ra;

	if (is_rbx)
		k->now.rbx = k->initial.rbx;
	else if (is_fp)
		k->now.fp = k->initial.fp;
	else
		k->now.ra = k->initial.ra;
	if (one_in(2))
		cfi_u8(&k->program, 0xc0 + reg);
	else
		op_reg(&k->program, 0x06, reg);
}

/** What changes nothing of ours. */
static void noise(struct maker *k)
{
	struct buf e = {0};
	unsigned int reg;

	do
		reg = below(90);
	while (reg == k->fp || reg == k->ra || reg == k->sp ||
	       (reg == UNW_RBX && k->arch == UNW_X86_64));
	switch (below(6)) {
	case 0:
		cfi_u8(&k->program, 0);
		break;
	case 1:
		cfi_u8(&k->program, 0x2e);
		cfi_uleb(&k->program, below(1000));
		break;
	case 2:
		put_odd(k, &e);
		op_reg(&k->program, 0x10, reg);
		cfi_block(&k->program, &e);
		break;
	case 3:
		op_reg(&k->program, 0x09, reg);
		cfi_uleb(&k->program, below(90));
		break;
	case 4:
		put_val_offset(k, reg, random_off());
		break;
	default:
		put_offset(k, reg, random_off());
		break;
	}
	buf_done(&e);
}

static void change(struct maker *k)
{
	switch (below(14)) {
	case 0:
	case 1:
	case 2:
		change_cfa_reg(k);
		break;
	case 3:
		change_cfa_expression(k);
		break;
	case 4:
		if (k->depth < 32 && !k->is_cie) {
			cfi_u8(&k->program, 0x0a);
			k->stack[k->depth++] = k->now;
		}
		break;
	case 5:
		if (k->depth) {
			cfi_u8(&k->program, 0x0b);
			k->now = k->stack[--k->depth];
		}
		break;
	case 6:
		if (!k->is_cie)
			restore(k);
		break;
	case 7:
		if (k->arch == UNW_AARCH64) {
			cfi_u8(&k->program, one_in(4) ? 0x2c : 0x2d);
			k->now.is_signed = !k->now.is_signed;
		}
		break;
	case 8:
		noise(k);
		break;
	default:
		change_reg(k);
		break;
	}
}

static void advance(struct maker *k, uint64_t delta)
{
	uint64_t n = delta / k->cie.code_align;
	struct buf *b = &k->program;
	bool swap = k->c.is_swapped;

	k->loc += delta;
	if ((k->cie.encoding & 0x70) == 0 && one_in(6)) {
		cfi_u8(b, 0x01);
		cfi_pointer(b, strchr(k->cie.letters, 'R') ? k->cie.encoding : EH_PE_PTR, 0, k->loc,
			    swap);
	} else if (n < 64 && one_in(2)) {
		cfi_u8(b, 0x40 + (unsigned int)n);
	} else if (n < 256 && one_in(2)) {
		cfi_u8(b, 0x02);
		cfi_fixed(b, n, 1, swap);
	} else if (n < 65536 && one_in(2)) {
		cfi_u8(b, 0x03);
		cfi_fixed(b, n, 2, swap);
	} else if (one_in(2)) {
		cfi_u8(b, 0x04);
		cfi_fixed(b, n, 4, swap);
	} else {
		cfi_u8(b, 0x1d);
		cfi_fixed(b, n, 8, swap);
	}
}

static void expect(const struct maker *k)
{
	if (nr_want == MAX_ROWS)
		return;
	want[nr_want].rel = k->loc - TEXT;
	want[nr_want++].rule = rule_of(k);
}

/** A function at @p start. @return its end. */
static uint64_t make_function(struct maker *k, uint64_t start)
{
	uint32_t nr = below(20);

	k->now = k->initial;
	k->depth = 0;
	k->loc = start;
	buf_clear(&k->program);
	for (uint32_t i = 0; i < nr; i++) {
		for (uint32_t n = below(4); n; n--)
			change(k);
		expect(k);
		advance(k, (1 + below(one_in(6) ? 300 : 20)) * k->cie.code_align);
	}
	for (uint32_t n = below(3); n; n--)
		change(k);
	expect(k);
	k->loc += (1 + below(40)) * k->cie.code_align;
	cfi_fde_add(&k->c, &k->cie, start, k->loc - start, &k->program);
	if (one_in(5))
		cfi_terminator(&k->c);
	return k->loc;
}

static void make_cie(struct maker *k)
{
	static const char *const letters[] = {"zR", "zR", "zPLR", "zRS", "", "zRBG", "eh", "zRX"};
	static const uint8_t encodings[] = {
		EH_PE_PTR,
		EH_PE_UDATA4,
		EH_PE_SDATA8,
		EH_PE_ULEB128,
		EH_PE_PCREL | EH_PE_SDATA4,
		EH_PE_PCREL | EH_PE_SDATA8,
		EH_PE_ALIGNED,
	};
	static const uint8_t versions[] = {1, 3, 4};
	static const int64_t data_aligns[] = {-8, -4, 8, 1, -1};

	k->cie.letters = letters[below(8)];
	k->cie.version = versions[below(3)];
	k->cie.is_64 = one_in(4);
	k->cie.encoding = strchr(k->cie.letters, 'R') ? encodings[below(7)] : EH_PE_PTR;
	k->cie.personality =
		one_in(2) ? EH_PE_ALIGNED : EH_PE_INDIRECT | EH_PE_PCREL | EH_PE_SDATA4;
	k->cie.code_align = k->arch == UNW_AARCH64 ? 4 : 1;
	k->cie.data_align = data_aligns[below(5)];
	k->cie.ra_reg = k->ra;
	k->now = (struct model){0};
	k->is_cie = true;
	k->depth = 0;
	buf_clear(&k->program);
	if (!one_in(8))
		change_cfa_reg(k);
	for (uint32_t n = below(4); n; n--)
		change(k);
	k->is_cie = false;
	k->initial = k->now;
	cfi_cie_add(&k->c, &k->cie, &k->program);
}

static void make_section(struct maker *k)
{
	static const unsigned int regs[][3] = {
		[UNW_X86_64] = {6,  7,  16},
		[UNW_AARCH64] = {29, 31, 30},
		[UNW_S390X] = {11, 15, 14}
        };
	uint64_t at = TEXT + 4;

	*k = (struct maker){.arch = (enum unw_arch)(1 + below(3))};
	k->fp = regs[k->arch][0];
	k->sp = regs[k->arch][1];
	k->ra = regs[k->arch][2];
	k->c.addr = SECTION;
	k->c.is_swapped = one_in(2);
	nr_want = 0;
	for (uint32_t nr = below(12); nr; nr--) {
		if (k->c.section.nr == 0 || one_in(4))
			make_cie(k);
		at = make_function(k, at);
		if (one_in(2)) { /* a gap */
			k->loc = at;
			want[nr_want].rel = at - TEXT;
			want[nr_want++].rule = (struct unw_rule){0};
			at += 4 * (1 + below(10));
		}
	}
}

static const struct unw_rule *wanted_at(uint64_t rel)
{
	static const struct unw_rule gap = {0};
	const struct unw_rule *r = &gap;

	for (size_t i = 0; i < nr_want && want[i].rel <= rel; i++)
		r = &want[i].rule;
	return r;
}

static bool same_rule(const struct unw_rule *a, const struct unw_rule *b)
{
	if (a->cfa == UNW_CFA_NONE || b->cfa == UNW_CFA_NONE)
		return a->cfa == b->cfa && a->origin == b->origin;
	return !memcmp(a, b, sizeof(*a));
}

/** @return the number of wrong rows. */
static uint32_t check(const struct unw_table *t, uint32_t round)
{
	uint32_t wrong = 0;

	for (size_t i = 0; i < nr_want; i++) {
		for (uint64_t rel = want[i].rel - 1; rel <= want[i].rel + 1; rel++) {
			const struct unw_rule *got = unw_table_find(t, rel), *w = wanted_at(rel);

			if (rel >= t->head->end || same_rule(got, w))
				continue;
			if (!wrong++)
				printf("# round %u, rel %#llx: got why %u cfa %u r%u%+d%+d ra %u r%u%+d "
				       "fp %u r%u%+d flags %u, want cfa %u r%u%+d%+d ra %u r%u%+d "
				       "fp %u r%u%+d flags %u\n",
				       round, (unsigned long long)rel, got->why, got->cfa,
				       got->cfa_reg, got->cfa_off, got->cfa_off2, got->ra,
				       got->ra_reg, got->ra_off, got->fp, got->fp_reg, got->fp_off,
				       got->flags, w->cfa, w->cfa_reg, w->cfa_off, w->cfa_off2,
				       w->ra, w->ra_reg, w->ra_off, w->fp, w->fp_reg, w->fp_off,
				       w->flags);
		}
	}
	return wrong;
}

int main(void)
{
	uint32_t wrong = 0, nr_bad = 0, nr_failed = 0;
	uint64_t nr_rows = 0, nr_functions = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct eh_frame_counts counts = {0};
		struct unw_list *l = unw_list_new();
		struct unw_image image;
		struct unw_table t;
		struct maker k;
		void *block = NULL;
		size_t size;

		make_section(&k);
		cfi_image(&k.c, k.arch, TEXT, TEXT_BYTES, &image);
		if (nr_want && (eh_frame_rows(&image, false, l, &counts) ||
				unw_table_build(l, NULL, k.arch, &block, &size) ||
				unw_table_of_block(&t, block, size)))
			nr_failed++;
		else if (nr_want)
			wrong += check(&t, round);
		nr_bad += counts.nr_bad != 0;
		nr_rows += nr_want;
		nr_functions += counts.nr_functions;
		mem_free(block);
		unw_list_free(l);
		cfi_done(&k.c);
		buf_done(&k.program);
	}
	CHECK_EQ(nr_failed, 0, "%d random sections compile", ROUNDS);
	CHECK_EQ(nr_bad, 0, "nothing in them is taken for damage");
	CHECK_EQ(wrong, 0, "%llu rows of %llu functions are what was encoded",
		 (unsigned long long)nr_rows, (unsigned long long)nr_functions);
	return tap_done();
}
