/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_impl.h"

/* DW_OP_ numbers. Spec: DWARF 5 "DWARF Operation Encodings". */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
	MAX_DEPTH = 8
};

struct machine {
	struct eh_form stack[MAX_DEPTH];
	unsigned int nr;
};

static bool push(struct machine *m, struct eh_form f)
{
	if (m->nr == MAX_DEPTH)
		return false;
	m->stack[m->nr++] = f;
	return true;
}

static bool push_const(struct machine *m, bool ok, uint64_t v)
{
	return ok && push(m, (struct eh_form){.kind = EH_CONST, .off = (int64_t)v});
}

static int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/** Add @p n to the value on top: the last thing done to it counts. */
static bool add_const(struct machine *m, int64_t n)
{
	struct eh_form *f;

	if (!m->nr)
		return false;
	f = &m->stack[m->nr - 1];
	if (f->kind == EH_DEREF_REG || f->kind == EH_DEREF_CFA)
		f->off2 = wrapping_add(f->off2, n);
	else
		f->off = wrapping_add(f->off, n);
	return true;
}

/** Sum or difference of two values of which one is a constant. */
static bool combine(struct machine *m, bool is_minus)
{
	struct eh_form top;

	if (m->nr < 2)
		return false;
	top = m->stack[--m->nr];
	if (top.kind == EH_CONST)
		return add_const(m, is_minus ? (int64_t)(0 - (uint64_t)top.off) : top.off);
	if (is_minus || m->stack[m->nr - 1].kind != EH_CONST)
		return false;
	/* constant + value */
	m->stack[m->nr] = m->stack[m->nr - 1];
	m->stack[m->nr - 1] = top;
	return add_const(m, m->stack[m->nr].off);
}

static bool deref(struct machine *m)
{
	struct eh_form *f;

	if (!m->nr)
		return false;
	f = &m->stack[m->nr - 1];
	if (f->kind == EH_OF_REG)
		f->kind = EH_DEREF_REG;
	else if (f->kind == EH_OF_CFA)
		f->kind = EH_DEREF_CFA;
	else
		return false;
	f->off2 = 0;
	return true;
}

static bool push_reg(struct machine *m, struct bytes *b, uint64_t reg)
{
	int64_t off;

	return eh_sleb(b, &off) &&
	       push(m, (struct eh_form){.kind = EH_OF_REG, .reg = reg, .off = off});
}

static bool push_fixed(struct machine *m, struct bytes *b, uint8_t op, bool swap)
{
	uint8_t v8 = 0;
	uint16_t v16 = 0;
	uint32_t v32 = 0;
	uint64_t v64 = 0;
	bool ok;

	switch (op) {
	case OP_CONST1U:
	case OP_CONST1S:
		ok = bytes_u8(b, &v8);
		return push_const(m, ok, op == OP_CONST1S ? (uint64_t)(int8_t)v8 : v8);
	case OP_CONST2U:
	case OP_CONST2S:
		ok = bytes_u16(b, swap, &v16);
		return push_const(m, ok, op == OP_CONST2S ? (uint64_t)(int16_t)v16 : v16);
	case OP_CONST4U:
	case OP_CONST4S:
		ok = bytes_u32(b, swap, &v32);
		return push_const(m, ok, op == OP_CONST4S ? (uint64_t)(int32_t)v32 : v32);
	default:
		ok = bytes_u64(b, swap, &v64);
		return push_const(m, ok, v64);
	}
}

static bool run_op(struct machine *m, struct bytes *b, uint8_t op, bool swap)
{
	uint64_t u = 0;
	int64_t s = 0;
	uint8_t size;
	bool ok;

	if (op >= OP_LIT0 && op < OP_LIT0 + 32)
		return push_const(m, true, (uint64_t)(op - OP_LIT0));
	if (op >= OP_BREG0 && op < OP_BREG0 + 32)
		return push_reg(m, b, (uint64_t)(op - OP_BREG0));
	if (op >= OP_CONST1U && op <= OP_CONST8S)
		return push_fixed(m, b, op, swap);
	switch (op) {
	case OP_BREGX:
		return eh_uleb(b, &u) && push_reg(m, b, u);
	case OP_CONSTU:
		ok = eh_uleb(b, &u);
		return push_const(m, ok, u);
	case OP_CONSTS:
		ok = eh_sleb(b, &s);
		return push_const(m, ok, (uint64_t)s);
	case OP_PLUS_UCONST:
		return eh_uleb(b, &u) && add_const(m, (int64_t)u);
	case OP_PLUS:
		return combine(m, false);
	case OP_MINUS:
		return combine(m, true);
	case OP_DEREF:
		return deref(m);
	case OP_DEREF_SIZE:
		return bytes_u8(b, &size) && size == 8 && deref(m);
	case OP_NOP:
		return true;
	default:
		return false;
	}
}

/**
 * The linker's expression for a lazy PLT: SP + 8 + ((pc & 15) >= n) << 3, where n is the length of
 * the instructions before the push.
 */
static bool is_plt(struct bytes b, int64_t *ret)
{
	static const uint8_t head[] = {OP_BREG0 + 7, 8, OP_BREG0 + 16, 0, OP_LIT0 + 15, OP_AND};
	static const uint8_t tail[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	const uint8_t *p = b.pos;

	if (bytes_left(&b) != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)) || p[sizeof(head)] < OP_LIT0 ||
	    p[sizeof(head)] >= OP_LIT0 + 16)
		return false;
	*ret = p[sizeof(head)] - OP_LIT0;
	return true;
}

/* The frame of libcrypto's table code: the caller's SP is on the stack after an array, and a
 * register holds the array's length: breg, breg 0, lit8, mul, plus, deref, plus_uconst. */
static bool is_index(struct bytes b, struct eh_form *ret)
{
	static const uint8_t middle[] = {0, OP_LIT0 + 8, OP_MUL, OP_PLUS, OP_DEREF, OP_PLUS_UCONST};
	struct eh_form f = {.kind = EH_INDEX};
	uint8_t reg, index;
	uint64_t off2;

	if (!bytes_u8(&b, &reg) || reg < OP_BREG0 || reg >= OP_BREG0 + 32 || !eh_sleb(&b, &f.off) ||
	    !bytes_u8(&b, &index) || index < OP_BREG0 || index >= OP_BREG0 + 32 ||
	    bytes_left(&b) < sizeof(middle) || memcmp(b.pos, middle, sizeof(middle)) != 0)
		return false;
	b.pos += sizeof(middle);
	if (!eh_uleb(&b, &off2) || bytes_left(&b))
		return false;
	f.reg = (uint64_t)(reg - OP_BREG0);
	f.index = (uint8_t)(index - OP_BREG0);
	f.off2 = (int64_t)off2;
	*ret = f;
	return true;
}

struct eh_form eh_form_of(struct bytes expr, bool has_cfa, const struct eh_target *t)
{
	struct eh_form none = {.kind = EH_NO_FORM}, known = {.kind = EH_PLT};
	struct machine m = {.nr = 0};
	uint8_t op;

	if (t->arch == UNW_X86_64 && !has_cfa && is_plt(expr, &known.off))
		return known;
	if (!has_cfa && is_index(expr, &known))
		return known;
	if (has_cfa)
		push(&m, (struct eh_form){.kind = EH_OF_CFA});
	while (bytes_u8(&expr, &op)) {
		if (!run_op(&m, &expr, op, t->bases.is_swapped))
			return none;
	}
	return m.nr ? m.stack[m.nr - 1] : none;
}
