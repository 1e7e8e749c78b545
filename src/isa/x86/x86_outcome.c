/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_outcome.h"

#include "base/bytes.h"

enum { FLAG_C = 1, FLAG_P = 4, FLAG_Z = 0x40, FLAG_S = 0x80, FLAG_O = 0x800 };
enum { REX_B = 1, REX_X = 2, REX_W = 8 };
enum { REG_CX = 1, REG_SP = 4 };

struct cursor {
	enum isa mode;
	const uint8_t *code;
	size_t bytes, at;
	uint8_t rex, segment;
	bool has_66, has_67;
};

static void skip_prefixes(struct cursor *c)
{
	for (; c->at < c->bytes; c->at++) {
		uint8_t b = c->code[c->at];

		if (b == 0x66)
			c->has_66 = true;
		else if (b == 0x67)
			c->has_67 = true;
		else if (b == 0x64 || b == 0x65)
			c->segment = b;
		else if (b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26)
			break;
	}
	if (c->mode == ISA_X86_64 && c->at < c->bytes && (c->code[c->at] & 0xf0) == 0x40)
		c->rex = c->code[c->at++];
}

static uint8_t address_bytes(const struct cursor *c)
{
	if (c->mode == ISA_X86_64)
		return c->has_67 ? 4 : 8;
	return (c->mode == ISA_X86_32) != c->has_67 ? 4 : 2;
}

/* In 64-bit mode near branches are always of 64 bits, but for a 66 prefix on AMD: not supported
 * here.
 */
static bool target_bytes(const struct cursor *c, uint8_t *ret)
{
	if (c->mode == ISA_X86_64) {
		*ret = 8;
		return !c->has_66 || c->rex & REX_W;
	}
	*ret = (c->mode == ISA_X86_32) != c->has_66 ? 4 : 2;
	return true;
}

static bool take_displacement(const struct cursor *c, size_t at, unsigned int bytes,
			      struct x86_outcome *ret)
{
	if (c->bytes < at || c->bytes - at < bytes)
		return false;
	if (bytes == 1)
		ret->displacement = (int8_t)c->code[at];
	else if (bytes == 4)
		ret->displacement = (int32_t)load_le32(c->code + at);
	return true;
}

/* ModRM of FF /2 and /4 at @p c, in 32 and 64 bit addressing. */
static bool take_operand(const struct cursor *c, struct x86_outcome *ret)
{
	uint8_t modrm = c->code[c->at], mod = modrm >> 6, rm = modrm & 7, sib;
	size_t at = c->at + 1;

	ret->base = (uint8_t)(rm | (c->rex & REX_B ? 8 : 0));
	if (mod == 3) {
		ret->way = X86_WAY_REG;
		return true;
	}
	ret->way = X86_WAY_MEMORY;
	if (ret->address_bytes == 2)
		return false;
	if (rm == 4) {
		if (at >= c->bytes)
			return false;
		sib = c->code[at++];
		ret->scale = sib >> 6;
		ret->index = (uint8_t)((sib >> 3 & 7) | (c->rex & REX_X ? 8 : 0));
		ret->base = (uint8_t)((sib & 7) | (c->rex & REX_B ? 8 : 0));
		if (ret->index == REG_SP)
			ret->index = X86_NO_REG;
		if ((sib & 7) == 5 && mod == 0) {
			ret->base = X86_NO_REG;
			return take_displacement(c, at, 4, ret);
		}
	} else if (rm == 5 && mod == 0) {
		ret->base = c->mode == ISA_X86_64 ? X86_REG_IP : X86_NO_REG;
		return take_displacement(c, at, 4, ret);
	}
	return take_displacement(c, at, mod == 1 ? 1 : mod == 2 ? 4 : 0, ret);
}

bool x86_outcome_of(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
		    struct x86_outcome *ret)
{
	struct cursor c = {.mode = mode, .code = code, .bytes = bytes};
	struct x86_outcome o = {.base = X86_NO_REG, .index = X86_NO_REG, .next = pc + bytes};
	uint8_t op;

	skip_prefixes(&c);
	if (c.at >= bytes)
		return false;
	op = code[c.at++];
	o.segment = c.segment;
	o.address_bytes = address_bytes(&c);
	if ((op & 0xf0) == 0x70) {
		o.code = op & 15;
	} else if (op == 0x0f && c.at < bytes && (code[c.at] & 0xf0) == 0x80) {
		o.code = code[c.at] & 15;
	} else if (op >= 0xe0 && op <= 0xe3) {
		o.way = X86_WAY_COUNT;
		o.code = op & 3;
	} else if (!target_bytes(&c, &o.target_bytes)) {
		return false;
	} else if (op == 0xc3 || op == 0xc2) {
		o.way = X86_WAY_RETURN;
	} else if (op != 0xff || c.at >= bytes || !take_operand(&c, &o)) {
		return false;
	}
	*ret = o;
	return true;
}

static uint64_t cut(uint64_t v, unsigned int bytes)
{
	return bytes == 8 ? v : v & ((UINT64_C(1) << 8 * bytes) - 1);
}

/* Conditions come in pairs, the odd one of which is the opposite. */
static bool holds(uint8_t code, uint64_t flags)
{
	bool is_less = !(flags & FLAG_S) != !(flags & FLAG_O), v = false;

	switch (code >> 1) {
	case 0:
		v = flags & FLAG_O;
		break;
	case 1:
		v = flags & FLAG_C;
		break;
	case 2:
		v = flags & FLAG_Z;
		break;
	case 3:
		v = flags & (FLAG_C | FLAG_Z);
		break;
	case 4:
		v = flags & FLAG_S;
		break;
	case 5:
		v = flags & FLAG_P;
		break;
	case 6:
		v = is_less;
		break;
	case 7:
		v = is_less || flags & FLAG_Z;
		break;
	default:
		break;
	}
	return v != (code & 1);
}

/* LOOP and its kin count down first; JCXZ only looks. */
static bool counts(const struct x86_outcome *o, const struct x86_state *s)
{
	uint64_t cx = cut(s->gpr[REG_CX], o->address_bytes);
	bool is_zero = s->flags & FLAG_Z;

	if (o->code == 3)
		return !cx;
	return cx != 1 && (o->code == 2 || is_zero == (o->code == 1));
}

bool x86_is_taken(const struct x86_outcome *o, const struct x86_state *s)
{
	return o->way == X86_WAY_FLAGS ? holds(o->code, s->flags) : counts(o, s);
}

static uint64_t reg(const struct x86_outcome *o, const struct x86_state *s, uint8_t number)
{
	if (number == X86_REG_IP)
		return o->next;
	return number < 16 ? s->gpr[number] : 0;
}

uint64_t x86_outcome_place(const struct x86_outcome *o, const struct x86_state *s)
{
	uint64_t at;

	if (o->way == X86_WAY_RETURN)
		return s->gpr[REG_SP];
	if (o->way == X86_WAY_REG)
		return cut(reg(o, s, o->base), o->target_bytes);
	at = reg(o, s, o->base) + (reg(o, s, o->index) << o->scale) + (uint64_t)o->displacement;
	at = cut(at, o->address_bytes);
	if (o->segment)
		at += o->segment == 0x64 ? s->fs_base : s->gs_base;
	return at;
}
