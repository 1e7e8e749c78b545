/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_newer.h"

#include <string.h>

#include "base/bytes.h"
#include "isa/x86/x86_branch.h"

enum { REX2 = 0xd5, REX2_MAP1 = 0x80, REX2_W = 8, JMPABS = 0xa1 };
enum { NO_FORM = -1 };

struct cursor {
	enum isa mode;
	const uint8_t *code;
	size_t bytes, at;
	bool has_67, has_lock, has_rep; /* F2, F3 */
};

static bool is_prefix(struct cursor *c, uint8_t b)
{
	switch (b) {
	case 0xf2:
	case 0xf3:
		c->has_rep = true;
		return true;
	case 0xf0:
		c->has_lock = true;
		return true;
	case 0x67:
		c->has_67 = true;
		return true;
	default:
		return b == 0x66 || b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x64 ||
		       b == 0x65;
	}
}

static void skip_prefixes(struct cursor *c)
{
	while (c->at < c->bytes && is_prefix(c, c->code[c->at]))
		c->at++;
}

/** Of ModRM and what it brings: SIB, displacement. 0: cut. */
static size_t modrm_bytes(const struct cursor *c, size_t at)
{
	bool is_16 = (c->mode == ISA_X86_16) != c->has_67 && c->mode != ISA_X86_64;
	uint8_t mod, rm, base;

	if (at >= c->bytes)
		return 0;
	mod = c->code[at] >> 6;
	rm = c->code[at] & 7;
	if (mod == 3)
		return 1;
	if (is_16)
		return mod == 1 ? 2 : mod == 2 || rm == 6 ? 3 : 1;
	if (rm == 4 && at + 1 >= c->bytes)
		return 0;
	base = rm == 4 ? c->code[at + 1] & 7 : rm;
	return (rm == 4 ? 2u : 1u) + (mod == 1                              ? 1u
				      : mod == 2 || (base == 5 && mod == 0) ? 4u
									    : 0u);
}

/** An instruction of ModRM and an immediate, plain but for @p ret's kind: ModRM is at @p c. */
static enum clew_err end_form(const struct cursor *c, int imm, struct insn *ret)
{
	size_t n = modrm_bytes(c, c->at);

	if (imm == NO_FORM)
		return CLEW_BAD_PACKET;
	if (!n)
		return CLEW_TRUNCATED;
	n += c->at + (size_t)imm;
	if (n > X86_MAX_BYTES)
		return CLEW_BAD_PACKET;
	if (n > c->bytes)
		return CLEW_TRUNCATED;
	ret->bytes = (uint8_t)n;
	return CLEW_OK;
}

/** Immediates of EVEX map 4: those of the instructions that APX promoted. */
static int promoted_imm(uint8_t opcode, uint8_t reg, int word)
{
	switch (opcode) {
	case 0x24:
	case 0x2c:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
		return 1;
	case 0x69:
	case 0x81:
		return word;
	case 0xf6:
		return reg < 2;
	case 0xf7:
		return reg < 2 ? word : 0;
	default:
		return 0;
	}
}

/** @p is_word: prefix 66 without W. */
static int vector_imm(const struct cursor *c, unsigned int map, uint8_t opcode, bool is_word)
{
	switch (map) {
	case 1:
		return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
		       (opcode >= 0xc4 && opcode <= 0xc6);
	case 2:
	case 5:
	case 6:
		return 0;
	case 3:
		return 1;
	case 4:
		return promoted_imm(opcode, c->at < c->bytes ? c->code[c->at] >> 3 & 7 : 0,
				    is_word ? 2 : 4);
	case 7:
		return 4;
	default:
		return NO_FORM;
	}
}

/** VEX of three bytes, or EVEX. */
static enum clew_err vector(struct cursor *c, struct insn *ret)
{
	const uint8_t *p = c->code + c->at;
	bool is_evex = *p == 0x62;
	size_t n = is_evex ? 4 : 3;
	unsigned int map;

	if (c->bytes - c->at < 2)
		return CLEW_TRUNCATED;
	if (c->mode != ISA_X86_64 && p[1] < 0xc0)
		return CLEW_BAD_PACKET;
	if (c->bytes - c->at <= n)
		return CLEW_TRUNCATED;
	map = is_evex ? p[1] & 7 : p[1] & 31;
	c->at += n + 1;
	if ((map == 4 && !is_evex) || ((map == 4 || map == 7) && c->mode != ISA_X86_64))
		return CLEW_BAD_PACKET;
	return end_form(c, vector_imm(c, map, p[n], (p[2] & 0x83) == 1), ret);
}

/** What faults with REX2: rows of opcodes, and whatever else selects a map or is a prefix. */
static bool is_undefined(bool is_map1, uint8_t opcode)
{
	struct cursor none = {0};
	uint8_t row = opcode >> 4;

	if (is_map1)
		return row == 3 || row == 8;
	return row == 4 || row == 7 || row == 0xa || row == 0xe || opcode == 0x0f ||
	       is_prefix(&none, opcode);
}

/** Its target may be patched while it runs, so the trace has it: no direct branch. */
static enum clew_err jmpabs(const struct cursor *c, struct insn *ret)
{
	if (c->at)
		return CLEW_BAD_PACKET; /* it takes no prefix */
	if (c->bytes < 11)
		return CLEW_TRUNCATED;
	*ret = (struct insn){.kind = INSN_INDIRECT, .bytes = 11};
	return CLEW_OK;
}

/** As the same instruction with REX, and with 0F where REX2 selects that map. */
static enum clew_err with_rex2(const struct cursor *c, uint64_t pc, struct insn *ret)
{
	uint8_t as_rex[X86_MAX_BYTES + 1], payload;
	size_t left, n = c->at;
	enum clew_err err;
	bool is_map1;

	if (c->bytes - c->at < 3)
		return CLEW_TRUNCATED;
	payload = c->code[c->at + 1];
	is_map1 = payload & REX2_MAP1;
	if (!is_map1 && c->code[c->at + 2] == JMPABS && !(payload & REX2_W))
		return jmpabs(c, ret);
	if (c->at > X86_MAX_BYTES - 3 || is_undefined(is_map1, c->code[c->at + 2]))
		return CLEW_BAD_PACKET;
	memcpy(as_rex, c->code, n);
	as_rex[n++] = 0x40 | (payload & 15);
	if (is_map1)
		as_rex[n++] = 0x0f;
	left = c->bytes - c->at - 2;
	left = left < sizeof(as_rex) - n ? left : sizeof(as_rex) - n;
	memcpy(as_rex + n, c->code + c->at + 2, left);
	err = x86_decode(c->mode, as_rex, n + left, pc + !is_map1, ret);
	if (err == CLEW_OK)
		ret->bytes = (uint8_t)(ret->bytes + !is_map1);
	return ret->bytes > X86_MAX_BYTES ? CLEW_BAD_PACKET : err;
}

/** Map 0F 01, of which these need a register form. */
static enum clew_err system_form(const struct cursor *c, struct insn *ret)
{
	uint8_t modrm = c->code[c->at];

	if (modrm == 0xca && c->has_rep && c->mode == ISA_X86_64) { /* ERETS, ERETU */
		ret->kind = INSN_FAR;
		ret->detail = X86_IRET;
	} else if (modrm != 0xc6 && modrm != 0xc7) { /* WRMSRNS, RDMSRLIST, WRMSRLIST; PBNDKB */
		return CLEW_BAD_PACKET;
	}
	return end_form(c, 0, ret);
}

/** Map 0F 38: MOVRS, URDMSR, UWRMSR, RAO-INT. */
static bool is_known_0f38(uint8_t opcode)
{
	return opcode == 0x8a || opcode == 0x8b || opcode == 0xf8 || opcode == 0xfc;
}

static enum clew_err legacy(struct cursor *c, struct insn *ret)
{
	uint8_t map = c->bytes - c->at > 1 ? c->code[c->at + 1] : 0;

	if (map != 0x00 && map != 0x01 && map != 0x38)
		return CLEW_BAD_PACKET;
	if (c->bytes - c->at < 3)
		return CLEW_TRUNCATED;
	c->at += 2;
	if (map == 0x01)
		return system_form(c, ret);
	if (map == 0x00) /* LKGS */
		return end_form(c, (c->code[c->at] >> 3 & 7) == 6 ? 0 : NO_FORM, ret);
	c->at++;
	return end_form(c, is_known_0f38(c->code[c->at - 1]) ? 0 : NO_FORM, ret);
}

enum clew_err x86_newer(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
			struct insn *ret)
{
	struct cursor c = {.mode = mode, .code = code, .bytes = bytes};
	struct insn i = {.kind = INSN_PLAIN};
	enum clew_err err;

	skip_prefixes(&c);
	if (c.at == bytes)
		return CLEW_TRUNCATED;
	if (mode == ISA_X86_64 && code[c.at] == REX2)
		err = with_rex2(&c, pc, &i);
	else if (c.has_lock)
		err = CLEW_BAD_PACKET;
	else if (code[c.at] == 0xc4 || code[c.at] == 0x62)
		err = vector(&c, &i);
	else {
		c.at += mode == ISA_X86_64 && (code[c.at] & 0xf0) == 0x40;
		err = c.at == bytes      ? CLEW_TRUNCATED
		    : code[c.at] == 0x0f ? legacy(&c, &i)
					 : CLEW_BAD_PACKET;
	}
	if (err == CLEW_OK)
		*ret = i;
	return err;
}
