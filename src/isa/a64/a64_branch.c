/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/a64/a64_branch.h"

#include "base/bytes.h"

/* How the target of a direct branch is encoded: a signed number of words. */
enum field { NO_TARGET, IMM26, IMM19, IMM14, IMM9 };

static const struct {
	uint8_t low, bits;
} fields[] = {
	[IMM26] = {0, 26},
	[IMM19] = {5, 19},
	[IMM14] = {5, 14},
	[IMM9] = {5, 9 },
};

/* In order: the first that matches counts. */
static const struct form {
	uint32_t mask, value;
	uint8_t kind, flags, field;
} forms[] = {
	{0xfc000000, 0x14000000, INSN_BRANCH,   0,         IMM26    }, /* B */
	{0xfc000000, 0x94000000, INSN_BRANCH,   INSN_LINK, IMM26    }, /* BL */
	{0xff000000, 0x54000000, INSN_COND,     0,         IMM19    }, /* B.cond, BC.cond */
	{0x7e000000, 0x34000000, INSN_COND,     0,         IMM19    }, /* CBZ, CBNZ */
	{0x7e000000, 0x36000000, INSN_COND,     0,         IMM14    }, /* TBZ, TBNZ */
	{0xff00c000, 0x74000000, INSN_COND,     0,         IMM9     }, /* CB<cc> Wt, Wm */
	{0xff00c000, 0xf4000000, INSN_COND,     0,         IMM9     }, /* CB<cc> Xt, Xm */
	{0xff00c000, 0x74008000, INSN_COND,     0,         IMM9     }, /* CBB<cc> */
	{0xff00c000, 0x7400c000, INSN_COND,     0,         IMM9     }, /* CBH<cc> */
	{0x7f004000, 0x75000000, INSN_COND,     0,         IMM9     }, /* CB<cc> Rt, #imm */
	{0xfffffc1f, 0xd61f0000, INSN_INDIRECT, 0,         NO_TARGET}, /* BR */
	{0xfffffc1f, 0xd63f0000, INSN_INDIRECT, INSN_LINK, NO_TARGET}, /* BLR */
	{0xfffffc1f, 0xd65f0000, INSN_INDIRECT, INSN_RET,  NO_TARGET}, /* RET */
	{0xffffffff, 0xd69f03e0, INSN_INDIRECT, INSN_ERET, NO_TARGET}, /* ERET */
	{0xfffff800, 0xd71f0800, INSN_INDIRECT, 0,         NO_TARGET}, /* BRAA, BRAB */
	{0xfffff800, 0xd73f0800, INSN_INDIRECT, INSN_LINK, NO_TARGET}, /* BLRAA, BLRAB */
	{0xfffff81f, 0xd61f081f, INSN_INDIRECT, 0,         NO_TARGET}, /* BRAAZ, BRABZ */
	{0xfffff81f, 0xd63f081f, INSN_INDIRECT, INSN_LINK, NO_TARGET}, /* BLRAAZ, BLRABZ */
	{0xfffffbff, 0xd69f0bff, INSN_INDIRECT, INSN_ERET, NO_TARGET}, /* ERETAA, ERETAB */
	{0xfffffbe0, 0xd65f0be0, INSN_INDIRECT, INSN_RET,
	 NO_TARGET						  }, /* RETAA, RETAB, RETA[AB]SPPCR */
	{0xffc0001f, 0x5500001f, INSN_INDIRECT, INSN_RET,  NO_TARGET}, /* RETA[AB]SPPC label */
	{0xfffffbff, 0xd6ff03e0, INSN_INDIRECT, INSN_ERET, NO_TARGET}, /* TEXIT */
	{0xfffff0ff, 0xd50330df, INSN_ISB,      0,         NO_TARGET}, /* ISB */
	{0xffffffdf, 0xd503205f, INSN_WFX,      0,         NO_TARGET}, /* WFE, WFI */
	{0xffffffc0, 0xd5031000, INSN_WFX,      0,         NO_TARGET}, /* WFET, WFIT */
	{0xffffffe0, 0xd5233060, INSN_TSTART,   0,         NO_TARGET}, /* TSTART */
};

static uint64_t target_of(uint32_t word, uint64_t pc, enum field field)
{
	unsigned int up = 64u - fields[field].low - fields[field].bits;
	int64_t words = (int64_t)((uint64_t)word << up) >> (64u - fields[field].bits);

	return pc + (uint64_t)words * 4;
}

struct insn a64_decode(uint32_t word, uint64_t pc)
{
	struct insn ret = {.kind = INSN_PLAIN, .bytes = 4};

	if (!a64_may_be_waypoint(word))
		return ret;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((word & forms[i].mask) != forms[i].value)
			continue;
		ret.kind = forms[i].kind;
		ret.flags = forms[i].flags;
		if (forms[i].field != NO_TARGET)
			ret.target = target_of(word, pc, forms[i].field);
		return ret;
	}
	return ret;
}

size_t a64_find_waypoint(const uint8_t *code, size_t bytes, bool has_wfx)
{
	size_t at = 0;

	for (; at + 4 <= bytes; at += 4) {
		uint32_t word = load_le32(code + at);
		struct insn i;

		if (!a64_may_be_waypoint(word))
			continue;
		i = a64_decode(word, 0);
		if (insn_is_waypoint(&i, has_wfx))
			break;
	}
	return at;
}
