/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_code.h"

#include <string.h>

/* What can be written at a place: a form without random bits but those of `any`, and what it is. */
enum target {
	T_NONE,
	A64_26,
	A64_19,
	A64_14,
	A64_9,
	A32_24,
	A32_BLX,
	T32_T3,
	T32_T1,
	T32_T2,
	T32_T4,
	T32_BLX,
	T32_CBZ,
	T32_LE,
	T32_WLS
};

struct form {
	uint32_t value, any; /* any: bits that may be what they like */
	uint8_t kind, flags, target;
	uint8_t bytes; /* 0: 4 */
};

enum { LINK = INSN_LINK, RET = INSN_RET, ERET = INSN_ERET, SWITCH = INSN_SWITCH };

/* clang-format off */
static const struct form a64_plain[] = {
	{0xd503201f, 0},          /* NOP */
	{0xd503203f, 0},          /* YIELD */
	{0xd503233f, 0},          /* PACIASP */
	{0xd503245f, 0},          /* BTI c */
	{0x91000000, 0x003fffff}, /* ADD immediate */
	{0xf9400000, 0x003fffff}, /* LDR */
	{0xa9007bfd, 0x003f8000}, /* STP x29, x30 */
	{0xd2800000, 0x001fffff}, /* MOVZ */
	{0xaa0003e0, 0x001f001f}, /* MOV */
	{0x1e602820, 0x001f03ff}, /* FADD */
	{0xd4000001, 0x001fffe0}, /* SVC */
	{0xd4200000, 0x001fffe0}, /* BRK */
	{0xd503309f, 0x00000f00}, /* DSB */
	{0xd50330bf, 0x00000f00}, /* DMB */
	{0xd50330ff, 0},          /* SB */
	{0xd53be040, 0x0000001f}, /* MRS CNTVCT_EL0 */
	{0xd503307f, 0},          /* TCOMMIT */
	{0x00000000, 0x0000ffff}, /* UDF */
	{0x58000000, 0x00ffffff}, /* LDR literal */
	{0x10000000, 0x60ffffff}, /* ADR */
};
static const struct form a64_branches[] = {
	{0x14000000, 0,          INSN_BRANCH, 0,    A64_26, 0}, /* B */
	{0x94000000, 0,          INSN_BRANCH, LINK, A64_26, 0}, /* BL */
	{0x94000000, 0,          INSN_BRANCH, LINK, A64_26, 0},
	{0x54000000, 0x0000001f, INSN_COND,   0,    A64_19, 0}, /* B.cond, BC.cond */
	{0x54000000, 0x0000001f, INSN_COND,   0,    A64_19, 0},
	{0x34000000, 0x8100001f, INSN_COND,   0,    A64_19, 0}, /* CBZ, CBNZ */
	{0x36000000, 0x81f8001f, INSN_COND,   0,    A64_14, 0}, /* TBZ, TBNZ */
	{0x74000000, 0x80ff001f, INSN_COND, 0, A64_9, 0}, /* CB<cc> register */
	{0x74008000, 0x00ff001f, INSN_COND,   0,    A64_9, 0},  /* CBB<cc> */
	{0x7400c000, 0x00ff001f, INSN_COND,   0,    A64_9, 0},  /* CBH<cc> */
	{0x75000000, 0x80ff801f, INSN_COND,   0,    A64_9, 0},  /* CB<cc> immediate */
	{0xd61f0000, 0x000003e0, INSN_INDIRECT, 0,    0, 0},    /* BR */
	{0xd63f0000, 0x000003e0, INSN_INDIRECT, LINK, 0, 0},    /* BLR */
	{0xd65f0000, 0x000003e0, INSN_INDIRECT, RET,  0, 0},    /* RET */
	{0xd65f03c0, 0,          INSN_INDIRECT, RET,  0, 0},
	{0xd65f03c0, 0,          INSN_INDIRECT, RET,  0, 0},
	{0xd71f0800, 0x000007ff, INSN_INDIRECT, 0,    0, 0},    /* BRAA, BRAB */
	{0xd73f0800, 0x000007ff, INSN_INDIRECT, LINK, 0, 0},    /* BLRAA, BLRAB */
	{0xd61f081f, 0x000007e0, INSN_INDIRECT, 0,    0, 0},    /* BRAAZ, BRABZ */
	{0xd63f081f, 0x000007e0, INSN_INDIRECT, LINK, 0, 0},    /* BLRAAZ, BLRABZ */
	{0xd65f0bff, 0x00000400, INSN_INDIRECT, RET,  0, 0},    /* RETAA, RETAB */
	{0xd65f0be0, 0x0000041f, INSN_INDIRECT, RET,  0, 0},    /* RETAASPPCR, RETABSPPCR */
	{0x5500001f, 0x003fffe0, INSN_INDIRECT, RET,  0, 0},    /* RETAASPPC, RETABSPPC */
	{0xd50330df, 0x00000f00, INSN_ISB,      0,    0, 0},    /* ISB */
};
static const struct form a64_returns[] = {
	{0xd69f03e0, 0,          INSN_INDIRECT, ERET, 0, 0}, /* ERET */
	{0xd69f0bff, 0x00000400, INSN_INDIRECT, ERET, 0, 0}, /* ERETAA, ERETAB */
};
static const struct form a64_wfx[] = {
	{0xd503205f, 0x00000020, INSN_WFX, 0, 0, 0}, /* WFE, WFI */
	{0xd5031000, 0x0000003f, INSN_WFX, 0, 0, 0}, /* WFET, WFIT */
};
static const struct form a64_transactions[] = {
	{0xd5233060, 0x0000001f, INSN_TSTART, 0, 0, 0},
};

/* The condition is filled in. */
static const struct form a32_plain[] = {
	{0x02800000, 0x000f0fff}, /* ADD immediate, Rd r0 */
	{0x00801000, 0x000f000e}, /* ADD register, Rd r1 */
	{0x05902000, 0x000f0fff}, /* LDR r2 */
	{0x0580f000, 0x000f0fff}, /* STR pc */
	{0x08900001, 0x000f7ffe}, /* LDM without pc */
	{0x08808000, 0x000f7fff}, /* STM with pc */
	{0x0f000000, 0x00ffffff}, /* SVC */
	{0x0320f000, 0},          /* NOP */
	{0x03500000, 0x000f0fff}, /* CMP */
	{0x0350f000, 0x000f0fff}, /* CMP with Rd = 15, as old processors have it */
	{0x010f0000, 0x0000e000}, /* MRS */
	{0x0328f000, 0x000000ff}, /* MSR immediate */
	{0x00000090, 0x000f0f0e}, /* MUL */
	{0x01900f9f, 0x000f0000}, /* LDREX */
	{0x01600070, 0x000f0000}, /* SMC, as good as */
	{0x0e111f10, 0},          /* MRC p15 */
};
static const struct form a32_always[] = { /* condition f */
	{0xf57ff04f, 0},          /* DSB */
	{0xf57ff05f, 0},          /* DMB */
	{0xf5d0f000, 0x000f0fff}, /* PLD */
	{0xf2000000, 0x000f000f}, /* SIMD */
	{0xf1080000, 0x000001c0}, /* CPS */
};
static const struct form a32_branches[] = {
	{0x0a000000, 0,          INSN_BRANCH,   0,    A32_24, 0}, /* B */
	{0x0a000000, 0,          INSN_BRANCH,   0,    A32_24, 0},
	{0x0b000000, 0,          INSN_BRANCH,   LINK, A32_24, 0}, /* BL */
	{0x0b000000, 0,          INSN_BRANCH,   LINK, A32_24, 0},
	{0x012fff1e, 0,          INSN_INDIRECT, RET,  0, 0}, /* BX LR */
	{0x012fff10, 0x00000003, INSN_INDIRECT, 0,    0, 0}, /* BX */
	{0x012fff30, 0x0000000f, INSN_INDIRECT, LINK, 0, 0}, /* BLX */
	{0x012fff20, 0x0000000f, INSN_INDIRECT, 0,    0, 0}, /* BXJ */
	{0x08bd8000, 0x00001fff, INSN_INDIRECT, RET,  0, 0}, /* POP {.., pc} */
	{0x08108000, 0x01847fff, INSN_INDIRECT, 0,    0, 0}, /* LDM with pc */
	{0x049df004, 0,          INSN_INDIRECT, RET,  0, 0}, /* LDR pc, [sp], #4 */
	{0x0510f000, 0x008f0fff, INSN_INDIRECT, 0,    0, 0}, /* LDR pc, immediate */
	{0x0790f000, 0x000f000e, INSN_INDIRECT, 0,    0, 0}, /* LDR pc, register */
	{0x01a0f00e, 0,          INSN_INDIRECT, RET,  0, 0}, /* MOV pc, lr */
	{0x01a0f000, 0x00000007, INSN_INDIRECT, 0,    0, 0}, /* MOV pc */
	{0x0280f000, 0x000f0fff, INSN_INDIRECT, 0,    0, 0}, /* ADD pc, immediate */
	{0x0080f000, 0x000f000e, INSN_INDIRECT, 0,    0, 0}, /* ADD pc, register */
	{0x0e070f95, 0x00006000, INSN_ISB, 0, 0, 0}, /* MCR p15, ISB */
};
static const struct form a32_always_branches[] = {
	{0xfa000000, 0,          INSN_BRANCH,   LINK | SWITCH, A32_BLX, 0}, /* BLX */
	{0xf57ff06f, 0,          INSN_ISB,      0,    0, 0}, /* ISB */
};
static const struct form a32_wfx[] = {
	{0x0320f002, 1, INSN_WFX, 0, 0, 0},
};

/* Of two bytes: in the upper half. */
static const struct form t32_plain[] = {
	{0xbf000000, 0,          0, 0, 0, 2}, /* NOP */
	{0x20000000, 0x07ff0000, 0, 0, 0, 2}, /* MOVS */
	{0x18000000, 0x01ff0000, 0, 0, 0, 2}, /* ADDS */
	{0x68000000, 0x07ff0000, 0, 0, 0, 2}, /* LDR */
	{0xdf000000, 0x00ff0000, 0, 0, 0, 2}, /* SVC */
	{0xde000000, 0x00ff0000, 0, 0, 0, 2}, /* UDF */
	{0xb4000000, 0x01ff0000, 0, 0, 0, 2}, /* PUSH */
	{0xbc000000, 0x00ff0000, 0, 0, 0, 2}, /* POP without pc */
	{0x44000000, 0x00780000, 0, 0, 0, 2}, /* ADD r0, high */
	{0x46080000, 0x00700000, 0, 0, 0, 2}, /* MOV r0 */
	{0xbe000000, 0x00ff0000, 0, 0, 0, 2}, /* BKPT */
	{0xf2400000, 0x040f7eff}, /* MOVW */
	{0xf1000000, 0x000f70ff}, /* ADD.W */
	{0xf8d00000, 0x000f7fff}, /* LDR.W */
	{0xf8c00000, 0x000f7fff}, /* STR.W */
	{0xe8900000, 0x000f1fff}, /* LDM without pc */
	{0xf3bf8f5f, 0},          /* DMB */
	{0xf3bf8f4f, 0},          /* DSB */
	{0xf3af8000, 0},          /* NOP.W */
	{0xf3ef8000, 0x00000f00}, /* MRS */
	{0xfb00f000, 0x000f070f}, /* MUL */
	{0xe9c00000, 0x000f77ff}, /* STRD */
};
static const struct form t32_branches[] = {
	{0xf0008000, 0x01400000, INSN_COND, 0, T32_T3, 0}, /* B<c>.W */
	{0xd0000000, 0x07000000, INSN_COND,     0,    T32_T1, 2}, /* B<c> */
	{0xd0000000, 0x07000000, INSN_COND,     0,    T32_T1, 2},
	{0xe0000000, 0,          INSN_BRANCH,   0,    T32_T2, 2}, /* B */
	{0xf0009000, 0,          INSN_BRANCH,   0,    T32_T4, 0}, /* B.W */
	{0xf000d000, 0,          INSN_BRANCH,   LINK, T32_T4, 0}, /* BL */
	{0xf000d000, 0,          INSN_BRANCH,   LINK, T32_T4, 0},
	{0xf000c000, 0,          INSN_BRANCH,   LINK | SWITCH, T32_BLX, 0}, /* BLX */
	{0xb1000000, 0x08070000, INSN_COND,     0,    T32_CBZ, 2}, /* CBZ, CBNZ */
	{0xf00fc001, 0,          INSN_COND,     0,    T32_LE, 0}, /* LE LR */
	{0x47800000, 0x00700000, INSN_INDIRECT, LINK, 0, 2}, /* BLX */
	{0x47700000, 0,          INSN_INDIRECT, RET,  0, 2}, /* BX LR */
	{0x47000000, 0x00080000, INSN_INDIRECT, 0,    0, 2}, /* BX */
	{0xbd000000, 0x00ff0000, INSN_INDIRECT, RET,  0, 2}, /* POP {.., pc} */
	{0x46f70000, 0,          INSN_INDIRECT, RET,  0, 2}, /* MOV pc, lr */
	{0x46870000, 0x00300000, INSN_INDIRECT, 0,    0, 2}, /* MOV pc */
	{0x44870000, 0x00300000, INSN_INDIRECT, 0,    0, 2}, /* ADD pc */
	{0xe8d0f000, 0x000f001f, INSN_INDIRECT, 0,    0, 0}, /* TBB, TBH */
	{0xf8d0f000, 0x000f0fff, INSN_INDIRECT, 0,    0, 0}, /* LDR.W pc, immediate */
	{0xf85ff000, 0x00800fff, INSN_INDIRECT, 0,    0, 0}, /* LDR.W pc, literal */
	{0xf85dfb04, 0,          INSN_INDIRECT, RET,  0, 0}, /* LDR.W pc, [sp], #4 */
	{0xf850f000, 0x00070037, INSN_INDIRECT, 0,    0, 0}, /* LDR.W pc, register */
	{0xe8bd8000, 0x00001fff, INSN_INDIRECT, RET,  0, 0}, /* POP.W {.., pc} */
	{0xe9108000, 0x00071fff, INSN_INDIRECT, 0,    0, 0}, /* LDMDB with pc */
	{0xf3c08f00, 0x00070000, INSN_INDIRECT, 0,    0, 0}, /* BXJ */
	{0xf3bf8f6f, 0,          INSN_ISB,      0,    0, 0}, /* ISB */
	{0xee070f95, 0x00006000, INSN_ISB,      0,    0, 0}, /* MCR p15, ISB */
};
/* v8-M, v8.1-M; BLX label to A32 and BXJ are missing. */
static const struct form t32_m_plain[] = {
	{0xf040e001, 0x00070000, 0, 0, 0, 0}, /* DLS */
	{0xf000e001, 0x00370000, 0, 0, 0, 0}, /* DLSTP */
	{0xf00fe001, 0,          0, 0, 0, 0}, /* LCTP */
	{0xe97fe97f, 0,          0, 0, 0, 0}, /* SG */
	{0xe840f000, 0x00070700, 0, 0, 0, 0}, /* TT */
	{0xf0c0e001, 0x070007fe, 0, 0, 0, 0}, /* BF */
	{0xf0e0e001, 0x07070000, 0, 0, 0, 0}, /* BFX */
	{0xf0f0e001, 0x07070000, 0, 0, 0, 0}, /* BFLX */
	{0xf080c001, 0x070f07fe, 0, 0, 0, 0}, /* BFL */
	{0xe89f0000, 0x0000dfff, 0, 0, 0, 0}, /* CLRM */
	{0xf000e801, 0x00370000, 0, 0, 0, 0}, /* VCTP */
};
static const struct form t32_m_branches[] = {
	{0xf00fc001, 0,          INSN_COND,     0,    T32_LE,  0}, /* LE LR */
	{0xf02fc001, 0,          INSN_BRANCH,   0,    T32_LE,  0}, /* LE */
	{0xf01fc001, 0,          INSN_COND,     0,    T32_LE,  0}, /* LETP */
	{0xf040c001, 0x00070000, INSN_COND,     0,    T32_WLS, 0}, /* WLS */
	{0xf000c001, 0x00370000, INSN_COND,     0,    T32_WLS, 0}, /* WLSTP */
	{0x47040000, 0x00380000, INSN_INDIRECT, 0,    0,       2}, /* BXNS */
	{0x47840000, 0x00380000, INSN_INDIRECT, LINK, 0,       2}, /* BLXNS */
};
static const struct form t32_wfx[] = {
	{0xf3af8002, 1,          INSN_WFX, 0, 0, 0}, /* WFE.W, WFI.W */
	{0xbf200000, 0x00100000, INSN_WFX, 0, 0, 2}, /* WFE, WFI */
};
/* clang-format on */

#define PICK(forms) (forms)[etm_random_below(r, (uint32_t)(sizeof(forms) / sizeof((forms)[0])))]

static struct form a64_form(const struct etm_area *a, struct etm_random *r,
			    const struct etm_code_opts *o, bool is_branch)
{
	if (!is_branch)
		return PICK(a64_plain);
	if (a->is_kernel && etm_random_one_in(r, 8))
		return PICK(a64_returns);
	if (o->has_wfx && etm_random_one_in(r, 12))
		return PICK(a64_wfx);
	if (o->has_transactions && !a->is_kernel && etm_random_one_in(r, 12))
		return PICK(a64_transactions);
	return PICK(a64_branches);
}

static struct form a32_form(struct etm_random *r, const struct etm_code_opts *o, bool is_branch)
{
	bool is_always = etm_random_one_in(r, 10);
	struct form f;

	if (is_always)
		return is_branch ? PICK(a32_always_branches) : PICK(a32_always);
	f = !is_branch                             ? PICK(a32_plain)
	  : o->has_wfx && etm_random_one_in(r, 12) ? PICK(a32_wfx)
						   : PICK(a32_branches);
	f.value |= (etm_random_one_in(r, 2) ? 14 : etm_random_below(r, 14)) << 28;
	if (is_branch && f.value >> 28 != 14)
		f.flags |= INSN_MAY_FAIL;
	return f;
}

static struct form t32_form(struct etm_random *r, const struct etm_code_opts *o, bool is_branch)
{
	struct form f = !is_branch                             ? PICK(t32_plain)
		      : o->has_wfx && etm_random_one_in(r, 12) ? PICK(t32_wfx)
							       : PICK(t32_branches);

	if (o->is_m_profile &&
	    (f.flags & SWITCH || f.value == 0xf3c08f00 || etm_random_one_in(r, 3)))
		f = is_branch ? PICK(t32_m_branches) : PICK(t32_m_plain);
	return f;
}

static struct form form_at(const struct etm_area *a, struct etm_random *r,
			   const struct etm_code_opts *o, bool is_branch)
{
	struct form f = a->isa == ISA_A64 ? a64_form(a, r, o, is_branch)
		      : a->isa == ISA_A32 ? a32_form(r, o, is_branch)
					  : t32_form(r, o, is_branch);

	f.value |= f.any & (uint32_t)etm_random_u64(r);
	if (!f.bytes)
		f.bytes = 4;
	return f;
}

/* --- targets --- */

static uint32_t t32_long(int64_t off, uint32_t word)
{
	uint32_t v = (uint32_t)off, s = v >> 31, i1 = v >> 23 & 1, i2 = v >> 22 & 1;

	return word | s << 26 | (v >> 12 & 0x3ff) << 16 | (!(i1 ^ s) & 1u) << 13 |
	       (!(i2 ^ s) & 1u) << 11 | (v >> 1 & 0x7ff);
}

static bool fits(int64_t v, unsigned int bits)
{
	return v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1);
}

/** The word with its target. @return false: too far. */
static bool aim(enum target t, uint64_t pc, uint64_t to, uint32_t *word)
{
	int64_t off = (int64_t)(to - pc), words = off / 4;
	uint32_t v;

	switch (t) {
	case T_NONE:
		return true;
	case A64_26:
		*word |= (uint32_t)words & 0x3ffffff;
		return fits(words, 26);
	case A64_19:
		*word |= ((uint32_t)words & 0x7ffff) << 5;
		return fits(words, 19);
	case A64_14:
		*word |= ((uint32_t)words & 0x3fff) << 5;
		return fits(words, 14);
	case A64_9:
		*word |= ((uint32_t)words & 0x1ff) << 5;
		return fits(words, 9);
	case A32_24:
		*word |= (uint32_t)((off - 8) / 4) & 0xffffff;
		return fits((off - 8) / 4, 24);
	case A32_BLX:
		off -= 8;
		*word |= ((uint32_t)(off >> 2) & 0xffffff) | ((uint32_t)off >> 1 & 1) << 24;
		return fits(off >> 2, 24);
	case T32_T3:
		v = (uint32_t)(off -= 4);
		*word |= (v >> 31) << 26 | (v >> 19 & 1) << 11 | (v >> 18 & 1) << 13 |
			 (v >> 12 & 0x3f) << 16 | (v >> 1 & 0x7ff);
		return fits(off, 21);
	case T32_T1:
		off -= 4;
		*word |= ((uint32_t)(off / 2) & 0xff) << 16;
		return fits(off / 2, 8);
	case T32_T2:
		off -= 4;
		*word |= ((uint32_t)(off / 2) & 0x7ff) << 16;
		return fits(off / 2, 11);
	case T32_T4:
		*word = t32_long(off - 4, *word);
		return fits(off - 4, 25);
	case T32_BLX:
		off = (int64_t)(to - (pc & ~(uint64_t)3)) - 4;
		*word = t32_long(off, *word);
		return !(to & 3) && fits(off, 25);
	case T32_CBZ:
		off -= 4;
		*word |= ((uint32_t)off >> 6 & 1) << 25 | ((uint32_t)off >> 1 & 0x1f) << 19;
		return off >= 0 && off < 128;
	case T32_LE:
		off = 4 - off; /* backwards */
		*word |= ((uint32_t)off >> 2 & 0x3ff) << 1 | ((uint32_t)off >> 1 & 1) << 11;
		return off >= 0 && off < 4096;
	case T32_WLS:
		off -= 4;
		*word |= ((uint32_t)off >> 2 & 0x3ff) << 1 | ((uint32_t)off >> 1 & 1) << 11;
		return off >= 0 && off < 4096;
	}
	return false;
}

static void write_at(struct etm_area *a, uint32_t at, const struct form *f, uint32_t word)
{
	if (a->isa == ISA_T32)
		word = word << 16 | word >> 16;
	for (unsigned int i = 0; i < f->bytes; i++)
		a->code[at + i] = (uint8_t)(word >> 8 * i);
}

uint64_t etm_area_any(const struct etm_area *a, struct etm_random *r)
{
	uint32_t at = etm_random_below(r, a->bytes / 2);

	while (!a->insns[at].bytes)
		at--;
	return a->start + 2 * (uint64_t)at;
}

/** Fill in a branch's target: near more often than far. */
static bool aim_somewhere(struct etm_image *im, struct etm_area *a, uint32_t at, struct form *f,
			  struct etm_random *r, uint32_t *word, uint64_t *to)
{
	struct etm_area *in = a;

	if (f->flags & INSN_SWITCH) {
		for (in = im->areas; in->isa != (a->isa == ISA_A32 ? ISA_T32 : ISA_A32);)
			in++;
	}
	for (unsigned int i = 0; i < 100; i++) {
		uint64_t pc = a->start + at;

		*to = etm_area_any(in, r);
		*word = f->value;
		if (aim((enum target)f->target, pc, *to, word))
			return true;
	}
	return false;
}

/* --- IT blocks --- */

enum { MAX_IT = 4, MOST_IT_BYTES = 2 + 4 * MAX_IT };

/** IT for @p nr instructions. */
static struct form it_for(struct etm_random *r, unsigned int nr)
{
	uint32_t condition = etm_random_below(r, 14);
	uint32_t mask = (etm_random_below(r, 8) << 1 | 1) << (MAX_IT - nr) & 0xf;

	return (struct form){.value = (0xbf00 | condition << 4 | mask) << 16, .bytes = 2};
}

/** In an IT block, of which it is the last if it branches. */
static struct form form_in_it(const struct etm_area *a, struct etm_random *r,
			      const struct etm_code_opts *o, bool is_branch)
{
	struct form f;

	do {
		f = form_at(a, r, o, is_branch);
	} while (f.kind == INSN_COND || f.target == T32_LE || f.target == T32_WLS);
	f.flags |= f.kind ? INSN_MAY_FAIL : 0;
	return f;
}

/** The next one of an area. *left: instructions of the IT block that it is in. */
static struct form next_form(const struct etm_area *a, struct etm_random *r,
			     const struct etm_code_opts *o, uint32_t bytes_left, unsigned int *left)
{
	if (*left)
		return form_in_it(a, r, o, !--*left && etm_random_one_in(r, 2));
	if (a->isa == ISA_T32 && bytes_left > MOST_IT_BYTES + 4 && etm_random_one_in(r, 12)) {
		*left = 1 + etm_random_below(r, MAX_IT);
		return it_for(r, *left);
	}
	return form_at(a, r, o, etm_random_one_in(r, 4));
}

/** Instruction lengths first, as targets have to be known; then the words. */
static void lay_out(struct etm_area *a, struct etm_random *r, const struct etm_code_opts *o,
		    struct form *forms)
{
	unsigned int left = 0;
	uint32_t at = 0;

	while (at < a->bytes) {
		bool is_last = a->bytes - at <= 4;
		struct form f = next_form(a, r, o, a->bytes - at, &left);

		if (is_last) { /* no way out of the end */
			static const struct form b64 = {0x14000000, 0, INSN_BRANCH, 0, A64_26, 4};
			static const struct form b32 = {0xea000000, 0, INSN_BRANCH, 0, A32_24, 4};
			static const struct form t4 = {0xf0009000, 0, INSN_BRANCH, 0, T32_T4, 4};
			static const struct form t2 = {0xe0000000, 0, INSN_BRANCH, 0, T32_T2, 2};

			f = a->isa == ISA_A64  ? b64
			  : a->isa == ISA_A32  ? b32
			  : a->bytes - at == 4 ? t4
					       : t2;
		}
		a->insns[at / 2] =
			(struct insn){.kind = f.kind, .flags = f.flags, .bytes = f.bytes};
		forms[at / 2] = f;
		at += f.bytes;
	}
}

static void fill_in(struct etm_image *im, struct etm_area *a, struct form *forms,
		    struct etm_random *r)
{
	for (uint32_t at = 0; at < a->bytes; at += a->insns[at / 2].bytes) {
		struct form *f = &forms[at / 2];
		struct insn *i = &a->insns[at / 2];
		uint32_t word = f->value;

		if (!aim_somewhere(im, a, at, f, r, &word, &i->target)) {
			/* Nothing in reach: a NOP of the same length. */
			word = a->isa == ISA_A64 ? 0xd503201f
			     : f->bytes == 2     ? 0xbf000000
			     : a->isa == ISA_A32 ? 0xe320f000
						 : 0xf3af8000;
			i->kind = INSN_PLAIN;
			i->flags = 0;
		}
		if (f->target == T_NONE)
			i->target = 0;
		write_at(a, at, f, word);
	}
}

static void make(struct etm_image *im, struct etm_random *r, const struct etm_code_opts *o)
{
	static struct form forms[ETM_IMAGE_AREAS][ETM_AREA_MAX_BYTES / 2];

	for (unsigned int i = 0; i < im->nr; i++)
		lay_out(&im->areas[i], r, o, forms[i]);
	for (unsigned int i = 0; i < im->nr; i++)
		fill_in(im, &im->areas[i], forms[i], r);
}

static void add(struct etm_image *im, struct etm_random *r, enum isa isa, uint64_t start)
{
	struct etm_area *a = &im->areas[im->nr++];

	a->start = start;
	a->isa = (uint8_t)isa;
	a->bytes = 128 + 4 * etm_random_below(r, (ETM_AREA_MAX_BYTES - 128) / 4);
	if (isa == ISA_T32 && etm_random_one_in(r, 2))
		a->bytes -= 2;
	a->pieces = isa == ISA_T32 ? 2 * (8 + etm_random_below(r, 100))
				   : 4 * (4 + etm_random_below(r, 100));
}

void etm_image_make_user(struct etm_image *im, struct etm_random *r,
			 const struct etm_code_opts *opts)
{
	memset(im, 0, sizeof(*im));
	add(im, r, ISA_A64, 0x400000);
	add(im, r, ISA_A64, 0x5500801000);
	add(im, r, ISA_A32, 0x10000);
	add(im, r, ISA_T32, 0x12000);
	make(im, r, opts);
}

void etm_image_make_m(struct etm_image *im, struct etm_random *r, const struct etm_code_opts *opts)
{
	memset(im, 0, sizeof(*im));
	add(im, r, ISA_T32, 0x8000);
	add(im, r, ISA_T32, 0x9000);
	add(im, r, ISA_T32, 0x20010000);
	make(im, r, opts);
}

void etm_image_make_kernel(struct etm_image *im, struct etm_random *r,
			   const struct etm_code_opts *opts)
{
	memset(im, 0, sizeof(*im));
	add(im, r, ISA_A64, 0xffff800008010000);
	add(im, r, ISA_A64, 0xffff80000a010000);
	for (unsigned int i = 0; i < im->nr; i++)
		im->areas[i].is_kernel = true;
	make(im, r, opts);
}

struct etm_area *etm_image_area(struct etm_image *im, uint64_t address)
{
	for (unsigned int i = 0; i < im->nr; i++) {
		if (address - im->areas[i].start < im->areas[i].bytes)
			return &im->areas[i];
	}
	return NULL;
}

const struct insn *etm_image_insn(struct etm_image *im, uint64_t address, enum isa isa)
{
	const struct etm_area *a = etm_image_area(im, address);
	const struct insn *i = a ? &a->insns[(address - a->start) / 2] : NULL;

	return i && a->isa == isa && i->bytes && !(address & 1) ? i : NULL;
}
