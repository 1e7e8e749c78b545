/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/a32/a32_branch.h"

#include "base/bytes.h"

enum target {
	NO_TARGET,
	A32_B,   /* pc + 8 + imm24 * 4 */
	A32_BLX, /* and 2 * H */
	T32_B8,
	T32_B11,
	T32_T3,
	T32_T4,
	T32_BLX,
	T32_CBZ,
	T32_LE,
	T32_WLS,
};

struct form {
	uint32_t mask, value;
	uint8_t kind, flags, target;
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* clang-format off */
/* In order: the first that matches counts. */
static const struct form a32[] = {
	{0xfe000000, 0xfa000000, INSN_BRANCH,   INSN_LINK | INSN_SWITCH, A32_BLX},   /* BLX label */
	{0xfe500000, 0xf8100000, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* RFE */
	{0xfff000f0, 0xf5700060, INSN_ISB,      0,                       NO_TARGET}, /* ISB */
	{0x0fff0fff, 0x0e070f95, INSN_ISB,      0,                       NO_TARGET}, /* MCR p15, 0, Rt, c7, c5, 4 */
	{0xf0000000, 0xf0000000, INSN_PLAIN,    0,                       NO_TARGET}, /* the unconditional rest */
	{0x0ffffffe, 0x0320f002, INSN_WFX,      0,                       NO_TARGET}, /* WFE, WFI */
	{0x0ff000ff, 0x0120001e, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* BX LR */
	{0x0ff000f0, 0x01200010, INSN_INDIRECT, 0,                       NO_TARGET}, /* BX */
	{0x0ff000f0, 0x01200030, INSN_INDIRECT, INSN_LINK,               NO_TARGET}, /* BLX register */
	{0x0ff000f0, 0x01200020, INSN_INDIRECT, 0,                       NO_TARGET}, /* BXJ */
	{0x0ff000f0, 0x01600060, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* ERET */
	{0x0fffa000, 0x08bd8000, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* LDMIA SP!, {.., pc} */
	{0x0e508000, 0x08508000, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* LDM {.., pc}^ */
	{0x0e508000, 0x08108000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDM {.., pc} */
	{0x0ffff000, 0x049df000, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* LDR pc, [sp], #imm */
	{0x0d300000, 0x04300000, INSN_PLAIN,    0,                       NO_TARGET}, /* LDRT */
	{0x0e50f000, 0x0410f000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR pc, immediate */
	{0x0e50f010, 0x0610f000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR pc, register */
	{0x0ff0ffff, 0x01a0f00e, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* MOV pc, lr */
	{0x0e000090, 0x00000090, INSN_PLAIN,    0,                       NO_TARGET}, /* multiply, LDRH, LDREX and kin */
	{0x0d800000, 0x01000000, INSN_PLAIN,    0,                       NO_TARGET}, /* TST to CMN; miscellaneous, MOVW, hints */
	{0x0c10f000, 0x0010f000, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* data processing to pc, with S */
	{0x0c10f000, 0x0000f000, INSN_INDIRECT, 0,                       NO_TARGET}, /* and without */
	{0x0f000000, 0x0a000000, INSN_BRANCH,   0,                       A32_B},     /* B */
	{0x0f000000, 0x0b000000, INSN_BRANCH,   INSN_LINK,               A32_B},     /* BL */
};

static const struct form t32[] = {
	{0xfe000000, 0xde000000, INSN_PLAIN,    0,                       NO_TARGET}, /* UDF, SVC */
	{0xf0000000, 0xd0000000, INSN_COND,     0,                       T32_B8},    /* B<c> T1 */
	{0xf8000000, 0xe0000000, INSN_BRANCH,   0,                       T32_B11},   /* B T2 */
	{0xfffff001, 0xf00fc001, INSN_COND,     0,                       T32_LE},    /* LE LR, label */
	{0xfffff001, 0xf02fc001, INSN_BRANCH,   0,                       T32_LE},    /* LE label */
	{0xfffff001, 0xf01fc001, INSN_COND,     0,                       T32_LE},    /* LETP */
	{0xfff0f001, 0xf040c001, INSN_COND,     0,                       T32_WLS},   /* WLS */
	{0xffc0f001, 0xf000c001, INSN_COND,     0,                       T32_WLS},   /* WLSTP */
	{0xf800d000, 0xf0009000, INSN_BRANCH,   0,                       T32_T4},    /* B.W */
	{0xf800d000, 0xf000d000, INSN_BRANCH,   INSN_LINK,               T32_T4},    /* BL */
	{0xf800d001, 0xf000c000, INSN_BRANCH,   INSN_LINK | INSN_SWITCH, T32_BLX},   /* BLX label */
	{0xf5000000, 0xb1000000, INSN_COND,     0,                       T32_CBZ},   /* CBZ, CBNZ */
	{0xff800000, 0x47800000, INSN_INDIRECT, INSN_LINK,               NO_TARGET}, /* BLX register, BLXNS */
	{0xfff80000, 0x47700000, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* BX LR */
	{0xff000000, 0x47000000, INSN_INDIRECT, 0,                       NO_TARGET}, /* BX, BXNS */
	{0xff000000, 0xbd000000, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* POP {.., pc} */
	{0xffff0000, 0x46f70000, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* MOV pc, lr */
	{0xfd870000, 0x44870000, INSN_INDIRECT, 0,                       NO_TARGET}, /* MOV pc, ADD pc */
	{0xfff0ffe0, 0xe8d0f000, INSN_INDIRECT, 0,                       NO_TARGET}, /* TBB, TBH */
	{0xffd00000, 0xe8100000, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* RFEDB */
	{0xffd00000, 0xe9900000, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* RFEIA */
	{0xfff0d000, 0xf3c08000, INSN_INDIRECT, 0,                       NO_TARGET}, /* BXJ */
	{0xfff0d000, 0xf3d08000, INSN_INDIRECT, INSN_ERET,               NO_TARGET}, /* SUBS pc, lr; ERET */
	{0xfff0f000, 0xf8d0f000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR.W pc, [Rn, #imm12] */
	{0xff7ff000, 0xf85ff000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR.W pc, literal */
	{0xffffff00, 0xf85dfb00, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* LDR.W pc, [sp], #imm8 */
	{0xfff0ff00, 0xf850fc00, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR.W pc, [Rn, #-imm8] */
	{0xfff0f900, 0xf850f900, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR.W pc, imm8 and Rn written */
	{0xfff0ffc0, 0xf850f000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDR.W pc, [Rn, Rm] */
	{0xffff8000, 0xe8bd8000, INSN_INDIRECT, INSN_RET,                NO_TARGET}, /* LDMIA.W sp!, {.., pc} */
	{0xffff0000, 0xe89f0000, INSN_PLAIN,    0,                       NO_TARGET}, /* CLRM */
	{0xfe508000, 0xe8108000, INSN_INDIRECT, 0,                       NO_TARGET}, /* LDM, LDMDB with pc */
	{0xfffffff0, 0xf3bf8f60, INSN_ISB,      0,                       NO_TARGET}, /* ISB */
	{0xffff0fff, 0xee070f95, INSN_ISB,      0,                       NO_TARGET}, /* MCR p15, 0, Rt, c7, c5, 4 */
	{0xfffffffe, 0xf3af8002, INSN_WFX,      0,                       NO_TARGET}, /* WFE.W, WFI.W */
	{0xffef0000, 0xbf200000, INSN_WFX,      0,                       NO_TARGET}, /* WFE, WFI */
};
/* clang-format on */

static uint64_t sign_extend(uint32_t v, unsigned int bits)
{
	return (uint64_t)((int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits));
}

/** S:I1:I2:imm10:imm11:0 of B.W, BL, BLX */
static uint64_t offset_t4(uint32_t w)
{
	uint32_t s = w >> 26 & 1, i1 = ~(w >> 13 ^ s) & 1, i2 = ~(w >> 11 ^ s) & 1;

	return sign_extend(
		s << 24 | i1 << 23 | i2 << 22 | (w >> 16 & 0x3ff) << 12 | (w & 0x7ff) << 1, 25);
}

/** S:J2:J1:imm6:imm11:0 of B<c>.W */
static uint64_t offset_t3(uint32_t w)
{
	return sign_extend((w >> 26 & 1) << 20 | (w >> 11 & 1) << 19 | (w >> 13 & 1) << 18 |
				   (w >> 16 & 0x3f) << 12 | (w & 0x7ff) << 1,
			   21);
}

static uint64_t target_of(uint32_t w, uint64_t pc, enum target how)
{
	uint32_t loop = (w & 0x7fe) << 1 | (w >> 10 & 2);
	uint64_t to = 0;

	switch (how) {
	case NO_TARGET:
		return 0;
	case A32_B:
		to = pc + 8 + sign_extend(w & 0xffffff, 24) * 4;
		break;
	case A32_BLX:
		to = pc + 8 + sign_extend(w & 0xffffff, 24) * 4 + (w >> 23 & 2);
		break;
	case T32_B8:
		to = pc + 4 + sign_extend(w >> 16 & 0xff, 8) * 2;
		break;
	case T32_B11:
		to = pc + 4 + sign_extend(w >> 16 & 0x7ff, 11) * 2;
		break;
	case T32_T3:
		to = pc + 4 + offset_t3(w);
		break;
	case T32_T4:
		to = pc + 4 + offset_t4(w);
		break;
	case T32_BLX:
		to = ((pc & ~(uint64_t)3) + 4 + offset_t4(w)) & ~(uint64_t)3;
		break;
	case T32_CBZ:
		to = pc + 4 + ((w >> 25 & 1) << 6 | (w >> 19 & 0x1f) << 1);
		break;
	case T32_LE:
		to = pc + 4 - loop;
		break;
	case T32_WLS:
		to = pc + 4 + loop;
		break;
	}
	return to & 0xffffffff;
}

static struct insn match(const struct form *forms, size_t nr, uint32_t word, uint64_t pc,
			 uint8_t bytes)
{
	struct insn ret = {.kind = INSN_PLAIN, .bytes = bytes};

	for (size_t i = 0; i < nr; i++) {
		if ((word & forms[i].mask) != forms[i].value)
			continue;
		ret.kind = forms[i].kind;
		ret.flags = forms[i].flags;
		ret.target = target_of(word, pc, (enum target)forms[i].target);
		break;
	}
	return ret;
}

struct insn a32_decode(uint32_t word, uint64_t pc)
{
	struct insn ret = match(a32, COUNT(a32), word, pc, 4);

	if (ret.kind == INSN_PLAIN || word >> 28 >= 0xe)
		return ret;
	ret.flags |= INSN_MAY_FAIL;
	if (ret.kind == INSN_BRANCH)
		ret.kind = INSN_COND;
	return ret;
}

struct insn t32_decode(uint32_t word, uint64_t pc)
{
	/* B<c>.W: a condition of 14 or 15 is another instruction */
	static const struct form cond = {0xf800d000, 0xf0008000, INSN_COND, 0, T32_T3};

	if ((word & cond.mask) == cond.value && (word & 0x03800000) != 0x03800000)
		return match(&cond, 1, word, pc, 4);
	return match(t32, COUNT(t32), word, pc, t32_is_wide((uint8_t)(word >> 24)) ? 4 : 2);
}

unsigned int t32_it_length(uint16_t first)
{
	if ((first & 0xff00) != 0xbf00 || !(first & 0xf))
		return 0;
	return 4 - (unsigned int)__builtin_ctz(first & 0xf);
}

size_t a32_find_waypoint(const uint8_t *code, size_t bytes, bool has_wfx)
{
	size_t at = 0;

	for (; at + 4 <= bytes; at += 4) {
		struct insn i = a32_decode(load_le32(code + at), 0);

		if (insn_is_waypoint(&i, has_wfx))
			break;
	}
	return at;
}

size_t t32_find_waypoint(const uint8_t *code, size_t bytes, bool has_wfx, uint32_t *ret_nr)
{
	size_t at = 0;

	for (*ret_nr = 0; at + 2 <= bytes; ++*ret_nr) {
		uint32_t word = (uint32_t)code[at] << 16 | (uint32_t)code[at + 1] << 24;
		struct insn i;

		if (t32_is_wide(code[at + 1])) {
			if (at + 4 > bytes)
				break; /* the rest is elsewhere */
			word |= (uint32_t)code[at + 2] | (uint32_t)code[at + 3] << 8;
		}
		i = t32_decode(word, 0);
		if (insn_is_waypoint(&i, has_wfx))
			break;
		at += i.bytes;
	}
	return at;
}
