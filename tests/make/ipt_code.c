/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/ipt_code.h"

#include "make/splitmix.h"

enum {
	IN_64 = 1,
	IN_32 = 2,
	IN_16 = 4,
	IN_OLD = IN_32 | IN_16,
	IN_ANY = 7,
};

enum operand { NO_OPERAND, MODRM, MEMORY };
enum immediate { IMM_0 = 0, IMM_1 = 1, IMM_2 = 2, IMM_3 = 3, IMM_Z, IMM_V, IMM_OFFSET };

/** Instructions that are no branches: the last opcode byte + step * (0 .. nr - 1). */
struct form {
	uint8_t in, nr_opcode, opcode[4];
	uint8_t step, nr;
	uint8_t operand, imm;
	int8_t reg;     /* of ModRM; -1: any */
	bool is_string; /* takes REP */
	bool is_bare;   /* takes no other prefix */
};

/* clang-format off */
static const struct form forms[] = {
	{IN_ANY, 1, {0x00}, 8, 8, MODRM, IMM_0, -1, false, false}, /* ADD .. CMP */
	{IN_ANY, 1, {0x01}, 8, 8, MODRM, IMM_0, -1, false, false},
	{IN_ANY, 1, {0x02}, 8, 8, MODRM, IMM_0, -1, false, false},
	{IN_ANY, 1, {0x03}, 8, 8, MODRM, IMM_0, -1, false, false},
	{IN_ANY, 1, {0x04}, 8, 8, NO_OPERAND, IMM_1, -1, false, false},
	{IN_ANY, 1, {0x05}, 8, 8, NO_OPERAND, IMM_Z, -1, false, false},
	{IN_ANY, 1, {0x50}, 1, 16, NO_OPERAND, IMM_0, -1, false, false}, /* PUSH, POP */
	{IN_OLD, 1, {0x62}, 1, 1, MEMORY, IMM_0, -1, false, false}, /* BOUND */
	{IN_ANY, 1, {0x68}, 1, 1, NO_OPERAND, IMM_Z, -1, false, false}, /* PUSH */
	{IN_ANY, 1, {0x69}, 1, 1, MODRM, IMM_Z, -1, false, false}, /* IMUL */
	{IN_ANY, 1, {0x6a}, 1, 1, NO_OPERAND, IMM_1, -1, false, false},
	{IN_ANY, 1, {0x6b}, 1, 1, MODRM, IMM_1, -1, false, false},
	{IN_ANY, 1, {0x80}, 1, 1, MODRM, IMM_1, -1, false, false},
	{IN_ANY, 1, {0x81}, 1, 1, MODRM, IMM_Z, -1, false, false},
	{IN_ANY, 1, {0x83}, 1, 1, MODRM, IMM_1, -1, false, false},
	{IN_ANY, 1, {0x84}, 1, 8, MODRM, IMM_0, -1, false, false}, /* TEST, XCHG, MOV */
	{IN_ANY, 1, {0x8d}, 1, 1, MEMORY, IMM_0, -1, false, false}, /* LEA */
	{IN_ANY, 1, {0x90}, 1, 8, NO_OPERAND, IMM_0, -1, false, false},
	{IN_ANY, 1, {0x98}, 1, 2, NO_OPERAND, IMM_0, -1, false, false},
	{IN_ANY, 1, {0xa0}, 1, 4, NO_OPERAND, IMM_OFFSET, -1, false, false}, /* MOV */
	{IN_ANY, 1, {0xa4}, 1, 4, NO_OPERAND, IMM_0, -1, true, false}, /* MOVS, CMPS */
	{IN_ANY, 1, {0xaa}, 1, 6, NO_OPERAND, IMM_0, -1, true, false}, /* STOS, LODS, SCAS */
	{IN_ANY, 1, {0xb0}, 1, 8, NO_OPERAND, IMM_1, -1, false, false},
	{IN_ANY, 1, {0xb8}, 1, 8, NO_OPERAND, IMM_V, -1, false, false},
	{IN_ANY, 1, {0xc0}, 1, 2, MODRM, IMM_1, -1, false, false}, /* ROL .. SAR */
	{IN_OLD, 1, {0xc4}, 1, 2, MEMORY, IMM_0, -1, false, false}, /* LES, LDS */
	{IN_ANY, 1, {0xc6}, 1, 1, MODRM, IMM_1, 0, false, false},
	{IN_ANY, 1, {0xc7}, 1, 1, MODRM, IMM_Z, 0, false, false},
	{IN_ANY, 1, {0xc8}, 1, 1, NO_OPERAND, IMM_3, -1, false, false}, /* ENTER */
	{IN_ANY, 1, {0xd0}, 1, 4, MODRM, IMM_0, -1, false, false},
	{IN_ANY, 1, {0xd9}, 1, 1, MEMORY, IMM_0, 0, false, false}, /* FLD */
	{IN_ANY, 1, {0xf6}, 1, 1, MODRM, IMM_1, 0, false, false}, /* TEST */
	{IN_ANY, 1, {0xf6}, 1, 2, MODRM, IMM_0, 4, false, false}, /* MUL */
	{IN_ANY, 1, {0xf7}, 1, 1, MODRM, IMM_Z, 0, false, false},
	{IN_ANY, 1, {0xff}, 1, 1, MODRM, IMM_0, 0, false, false}, /* INC, DEC, PUSH */
	{IN_ANY, 1, {0xff}, 1, 1, MODRM, IMM_0, 1, false, false},
	{IN_ANY, 1, {0xff}, 1, 1, MODRM, IMM_0, 6, false, false},
	{IN_ANY, 2, {0x0f, 0x1f}, 1, 1, MODRM, IMM_0, 0, false, false}, /* NOP */
	{IN_ANY, 2, {0x0f, 0x31}, 1, 1, NO_OPERAND, IMM_0, -1, false, true}, /* RDTSC */
	{IN_ANY, 2, {0x0f, 0x40}, 1, 16, MODRM, IMM_0, -1, false, false}, /* CMOV */
	{IN_ANY, 2, {0x0f, 0x90}, 1, 16, MODRM, IMM_0, -1, false, false}, /* SET */
	{IN_ANY, 2, {0x0f, 0xa2}, 1, 1, NO_OPERAND, IMM_0, -1, false, true}, /* CPUID */
	{IN_ANY, 2, {0x0f, 0xa4}, 1, 1, MODRM, IMM_1, -1, false, false}, /* SHLD */
	{IN_ANY, 2, {0x0f, 0xb6}, 1, 2, MODRM, IMM_0, -1, false, false}, /* MOVZX */
	{IN_ANY, 2, {0x0f, 0xba}, 1, 1, MODRM, IMM_1, 4, false, false}, /* BT */
	{IN_64 | IN_32, 3, {0x0f, 0x38, 0x00}, 1, 1, MODRM, IMM_0, -1, false, false}, /* PSHUFB */
	{IN_64 | IN_32, 3, {0x0f, 0x3a, 0x0f}, 1, 1, MODRM, IMM_1, -1, false, false}, /* PALIGNR */
	{IN_64, 4, {0xf3, 0x0f, 0x1e, 0xfa}, 1, 1, NO_OPERAND, IMM_0, -1, false, true}, /* ENDBR64 */
};
/* clang-format on */

/** Of one instruction. */
struct maker {
	const struct ipt_code_opts *o;
	struct ipt_region *r;
	uint8_t b[24];
	unsigned int nr;
	bool has_66, has_67, has_w;
};

static uint32_t below(struct maker *m, uint32_t n)
{
	return splitmix_below(m->o->random, n);
}

static bool one_in(struct maker *m, uint32_t n)
{
	return !below(m, n);
}

static void put(struct maker *m, unsigned int byte)
{
	m->b[m->nr++] = (uint8_t)byte;
}

static void put_any(struct maker *m, unsigned int nr)
{
	while (nr--)
		put(m, below(m, 256));
}

static void put_all(struct maker *m, unsigned int nr, const uint8_t *bytes)
{
	while (nr--)
		put(m, *bytes++);
}

static bool is_in(const struct maker *m, uint8_t in)
{
	uint8_t bits = m->r->bits;

	return in & (bits == 64 ? IN_64 : bits == 32 ? IN_32 : IN_16);
}

/* --- operands --- */

static void put_address_16(struct maker *m, unsigned int mod, unsigned int rm)
{
	put_any(m, mod == 0 && rm == 6 ? 2 : mod);
}

static void put_address_32(struct maker *m, unsigned int mod, unsigned int rm)
{
	unsigned int base = rm;

	if (rm == 4) {
		base = below(m, 256);
		put(m, base);
		base &= 7;
	}
	put_any(m, mod == 2 || (mod == 0 && base == 5) ? 4 : mod);
}

/** ModRM and all that follows it. @p reg: -1: any. @p nr_mods: 3: memory only, 4: registers, too.
 */
static void put_modrm(struct maker *m, int reg, uint32_t nr_mods)
{
	unsigned int mod = below(m, nr_mods), rm = below(m, 8);
	bool is_16 = m->r->bits == 16 ? !m->has_67 : m->r->bits == 32 && m->has_67;

	put(m, mod << 6 | (reg < 0 ? below(m, 8) : (unsigned int)reg) << 3 | rm);
	if (mod == 3)
		return;
	if (is_16)
		put_address_16(m, mod, rm);
	else
		put_address_32(m, mod, rm);
}

static void put_prefixes(struct maker *m)
{
	static const uint8_t segments[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65};
	bool is_late = one_in(m, 2);

	m->has_66 = one_in(m, 6);
	m->has_67 = one_in(m, 12);
	if (m->has_66 && !is_late)
		put(m, 0x66);
	if (one_in(m, 12))
		put(m, segments[below(m, 6)]);
	if (m->has_67)
		put(m, 0x67);
	if (m->has_66 && is_late)
		put(m, 0x66);
}

static void put_rex(struct maker *m)
{
	unsigned int rex = 0x40 | below(m, 16);

	if (m->r->bits != 64 || one_in(m, 2))
		return;
	put(m, rex);
	m->has_w = rex & 8;
}

static unsigned int bytes_of_imm(const struct maker *m, enum immediate imm)
{
	bool is_2 = !m->has_w && (m->r->bits == 16) != m->has_66;

	switch (imm) {
	case IMM_Z:
		return is_2 ? 2 : 4;
	case IMM_V:
		return m->has_w ? 8 : is_2 ? 2 : 4;
	case IMM_OFFSET:
		if (m->r->bits == 64)
			return m->has_67 ? 4 : 8;
		return (m->r->bits == 16) != m->has_67 ? 2 : 4;
	case IMM_0:
	case IMM_1:
	case IMM_2:
	case IMM_3:
		break;
	}
	return imm;
}

/* --- instructions --- */

static struct ipt_code_insn *add(struct maker *m, enum ipt_class class, unsigned int nr_rel)
{
	struct ipt_region *r = m->r;
	struct ipt_code_insn i = {.offset = (uint32_t)r->code.nr,
				  .bytes = (uint8_t)m->nr,
				  .class = (uint8_t) class,
				  .nr_rel = (uint8_t)nr_rel};

	buf_add(&r->code, m->b, m->nr);
	m->nr = 0;
	m->has_66 = m->has_67 = m->has_w = false;
	return vec_push(&r->insns, i) ? &r->insns.data[r->insns.nr - 1] : NULL;
}

/** VADDPS and kin; of two, three and four bytes of prefix. */
static void put_vector(struct maker *m)
{
	static const uint8_t vex[] = {0xc4, 0xe3, 0x79, 0x0f},
			     evex[] = {0x62, 0xf1, 0x74, 0x48, 0x58};
	/* Below c0 it is LDS. */
	unsigned int old = m->r->bits == 64 ? below(m, 256) : 0xc0 | below(m, 64);

	switch (m->r->bits == 64 ? below(m, 3) : 0) {
	case 0:
		put(m, 0xc5);
		put(m, old);
		put(m, 0x58 + below(m, 2));
		put_modrm(m, -1, 4);
		break;
	case 1:
		put_all(m, sizeof(vex), vex);
		put_modrm(m, -1, 4);
		put_any(m, 1);
		break;
	default:
		put_all(m, sizeof(evex), evex);
		put_modrm(m, -1, 4);
	}
}

static void add_plain(struct maker *m)
{
	const struct form *f;

	if (m->r->bits != 16 && one_in(m, 10)) {
		put_vector(m);
		add(m, IPT_CLASS_OTHER, 0);
		return;
	}
	do {
		f = &forms[below(m, sizeof(forms) / sizeof(forms[0]))];
	} while (!is_in(m, f->in));
	if (!f->is_bare)
		put_prefixes(m);
	if (f->is_string && one_in(m, 2))
		put(m, 0xf2 + below(m, 2));
	if (!f->is_bare)
		put_rex(m);
	put_all(m, f->nr_opcode, f->opcode);
	m->b[m->nr - 1] = (uint8_t)(m->b[m->nr - 1] + f->step * below(m, f->nr));
	if (f->operand)
		put_modrm(m, f->reg, f->operand == MEMORY ? 3 : 4);
	put_any(m, bytes_of_imm(m, (enum immediate)f->imm));
	add(m, IPT_CLASS_OTHER, 0);
}

/* --- branches --- */

/** Near, with a displacement of 2 or 4 bytes. In 64-bit mode 66 does not change it, and in 32-bit
 * mode it would cut the target. */
static void add_near(struct maker *m, enum ipt_class class, const uint8_t *opcode, unsigned int nr)
{
	unsigned int nr_rel = m->r->bits == 16 ? 2 : 4;

	if (m->r->bits != 32 && m->o->has_far && one_in(m, 16)) {
		put(m, 0x66);
		nr_rel = 4;
	}
	put_all(m, nr, opcode);
	m->nr += nr_rel;
	add(m, class, nr_rel);
}

static void add_short(struct maker *m, enum ipt_class class, unsigned int opcode)
{
	if (opcode == 0xe3 && one_in(m, 3))
		put(m, 0x67); /* JECXZ for JRCXZ */
	put(m, opcode);
	m->nr++;
	add(m, class, 1);
}

static void add_one(struct maker *m, enum ipt_class class, unsigned int nr, const uint8_t *opcode)
{
	put_all(m, nr, opcode);
	add(m, class, 0);
}
#define ADD(m, class, ...) \
 add_one(m, class, sizeof((uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__})

static void add_indirect(struct maker *m)
{
	bool is_call = below(m, 2);

	if (one_in(m, 6))
		put(m, 0x3e); /* NOTRACK */
	if (m->r->bits == 64 && one_in(m, 4))
		put(m, 0x41);
	put(m, 0xff);
	put_modrm(m, is_call ? 2 : 4, 4);
	add(m, is_call ? IPT_CLASS_CALL_TO : IPT_CLASS_JUMP_TO, 0);
}

static void add_return(struct maker *m)
{
	unsigned int nr = below(m, 4);

	if (nr == 1)
		put(m, 0xf3);
	put(m, nr ? 0xc3 : 0xc2);
	put_any(m, nr ? 0 : 2);
	add(m, IPT_CLASS_RETURN, 0);
}

/** An opcode, and an offset with its segment, or less. */
static void add_far_of(struct maker *m, unsigned int opcode, unsigned int nr)
{
	put(m, opcode);
	put_any(m, nr);
	add(m, IPT_CLASS_FAR, 0);
}

static void add_far_by(struct maker *m)
{
	put(m, 0xff);
	put_modrm(m, below(m, 2) ? 3 : 5, 3);
	add(m, IPT_CLASS_FAR, 0);
}

static void add_user_far(struct maker *m)
{
	unsigned int nr = m->r->bits == 16 ? 4 : 6;

	switch (below(m, m->r->bits == 64 ? 8 : 11)) {
	case 0:
		put(m, 0xcd);
		put_any(m, 1);
		add(m, IPT_CLASS_INT, 0);
		break;
	case 1:
		ADD(m, IPT_CLASS_INT, 0xcc);
		break;
	case 2:
		ADD(m, IPT_CLASS_INT, 0xf1);
		break;
	case 3:
	case 4:
		if (m->r->bits == 64)
			ADD(m, IPT_CLASS_SYSCALL, 0x0f, 0x05);
		else
			ADD(m, IPT_CLASS_SYSCALL, 0x0f, 0x34);
		break;
	case 5:
		add_far_by(m);
		break;
	case 6:
		add_far_of(m, 0xca, 2);
		break;
	case 7:
		add_far_of(m, 0xcb, 0);
		break;
	case 8:
		add_far_of(m, 0x9a, nr);
		break;
	case 9:
		add_far_of(m, 0xea, nr);
		break;
	default:
		ADD(m, IPT_CLASS_INT, 0xce);
	}
}

static void add_kernel_far(struct maker *m)
{
	bool is_64 = m->r->bits == 64;

	switch (below(m, m->o->has_vm && is_64 ? 5 : 2)) {
	case 0:
		if (is_64 && below(m, 2))
			put(m, 0x48);
		ADD(m, IPT_CLASS_FAR, 0xcf);
		break;
	case 1:
		if (is_64)
			ADD(m, IPT_CLASS_SYSRET, 0x48, 0x0f, 0x07);
		else
			ADD(m, IPT_CLASS_SYSRET, 0x0f, 0x35);
		break;
	case 2:
		ADD(m, IPT_CLASS_VM_ENTRY, 0x0f, 0x01, 0xc2);
		break;
	case 3:
		ADD(m, IPT_CLASS_VM_ENTRY, 0x0f, 0x01, 0xc3);
		break;
	default:
		ADD(m, IPT_CLASS_VM_CALL, 0x0f, 0x01, 0xc1);
	}
}

static void add_branch(struct maker *m)
{
	const uint8_t jcc[] = {0x0f, (uint8_t)(0x80 + below(m, 16))};
	static const uint8_t jmp = 0xe9, call = 0xe8;
	uint32_t k = below(m, 100);

	if (m->r->bits != 64 && one_in(m, 10))
		put(m, 0x2e); /* a hint */
	if (k < 30)
		add_short(m, IPT_CLASS_COND,
			  one_in(m, 6) ? 0xe0 + below(m, 4) : 0x70 + below(m, 16));
	else if (k < 48)
		add_near(m, IPT_CLASS_COND, jcc, 2);
	else if (k < 51)
		add_short(m, IPT_CLASS_JUMP, 0xeb);
	else if (k < 54)
		add_near(m, IPT_CLASS_JUMP, &jmp, 1);
	else if (k < 70)
		add_near(m, IPT_CLASS_CALL, &call, 1);
	else if (k < 76)
		add_indirect(m);
	else if (k < 94 || !m->o->has_far)
		add_return(m);
	else if (m->o->has_os && one_in(m, 3))
		add_kernel_far(m);
	else
		add_user_far(m);
}

/** What a packet may be of, and no branch is. */
static void add_special(struct maker *m)
{
	bool is_64 = m->r->bits == 64;
	static const uint8_t xbegin[] = {0xc7, 0xf8};

	switch (below(m, 6)) {
	case 0:
		if (!m->o->has_transactions || m->r->bits == 16)
			return;
		put_all(m, sizeof(xbegin), xbegin);
		m->nr += 4;
		add(m, IPT_CLASS_XBEGIN, 4);
		return;
	case 1:
		if (m->o->has_transactions)
			ADD(m, IPT_CLASS_XEND, 0x0f, 0x01, 0xd5);
		return;
	case 2:
		if (m->o->has_transactions)
			ADD(m, IPT_CLASS_XABORT, 0xc6, 0xf8, 0x07);
		return;
	case 3:
		if (!m->o->has_ptwrite || !is_64)
			return;
		put(m, 0xf3);
		if (below(m, 2))
			put(m, 0x48);
		put(m, 0x0f);
		put(m, 0xae);
		put_modrm(m, 4, 4);
		add(m, IPT_CLASS_PTWRITE, 0);
		return;
	case 4:
		if (!m->o->has_os || m->r->bits == 16)
			return;
		put(m, 0x0f);
		put(m, 0x22);
		put(m, 0xd8 + below(m, 8));
		add(m, IPT_CLASS_MOV_CR3, 0);
		return;
	default:
		if (!m->o->has_vm || !is_64)
			return;
		put(m, 0x0f);
		put(m, 0xc7);
		put_modrm(m, 6, 3);
		add(m, IPT_CLASS_VMPTRLD, 0);
	}
}

/* --- displacements --- */

static void set_rel(struct ipt_region *r, const struct ipt_code_insn *i, uint64_t target)
{
	uint64_t rel = target - (r->start + i->offset + i->bytes);
	char *at = r->code.data + i->offset + i->bytes - i->nr_rel;

	for (unsigned int k = 0; k < i->nr_rel; k++)
		at[k] = (char)(rel >> 8 * k);
}

/** Any place that the displacement reaches. */
static uint32_t any_target(struct maker *m, uint32_t i)
{
	const struct ipt_code_insn *all = m->r->insns.data;
	uint32_t nr = (uint32_t)m->r->insns.nr, low = i, high = i,
		 end = all[i].offset + all[i].bytes;
	bool is_both = all[i].class == IPT_CLASS_COND || all[i].class == IPT_CLASS_XBEGIN;

	if (all[i].nr_rel > 1) {
		high = nr - 1 < i + 4000 ? nr - 1 : i + 4000;
		low = i < 4000 ? 0 : i - 4000;
	} else {
		while (high + 1 < nr && all[high + 1].offset <= end + 127)
			high++;
		while (low > 0 && all[low - 1].offset + 128 >= end)
			low--;
	}
	if (!is_both)
		low = i + 1;
	return low + below(m, high - low + 1);
}

static void link_one(struct maker *m, uint32_t index)
{
	struct ipt_code_insn *i = &m->r->insns.data[index];
	const struct ipt_region *out = m->o->outside;

	if (out && i->nr_rel == 4 && i->class != IPT_CLASS_XBEGIN && one_in(m, 12)) {
		i->to = (uint32_t)IPT_OUTSIDE;
		set_rel(m->r, i, ipt_code_address(out, below(m, (uint32_t)out->insns.nr)));
		return;
	}
	i->to = i->class == IPT_CLASS_CALL && one_in(m, 20) ? index + 1 : any_target(m, index);
	set_rel(m->r, i, ipt_code_address(m->r, i->to));
}

void ipt_code_make(struct ipt_region *r, unsigned int nr_blocks, const struct ipt_code_opts *o)
{
	struct maker m = {.o = o, .r = r};

	for (unsigned int i = 0; i < nr_blocks; i++) {
		for (uint32_t nr = below(&m, 9); nr; nr--)
			add_plain(&m);
		if (one_in(&m, 6))
			add_special(&m);
		add_branch(&m);
	}
	ADD(&m, IPT_CLASS_JUMP_TO, 0xff, 0xe0);
	for (uint32_t i = 0; i < r->insns.nr; i++)
		if (r->insns.data[i].nr_rel)
			link_one(&m, i);
}

void ipt_code_done(struct ipt_region *r)
{
	buf_done(&r->code);
	vec_done(&r->insns);
}
