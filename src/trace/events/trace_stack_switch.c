/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_events_impl.h"

/*
 * Coroutines, longjmp, setcontext and what unwinds for exceptions load the stack pointer from where
 * no ordinary function has it: neither the frame pointer, nor a register that it was saved in
 * before. The last load in a block decides, as functions that move their stack pointer for a while
 * set it by the frame pointer before they return.
 */

enum { NONE, OWN, BY_REGISTER /* + its number, on which it depends */ };
enum { FOREIGN = 64, BACK_BYTES = 512 };

/* Spec: Intel SDM volume 2, "MOV", "XCHG", "LEA", "LEAVE"; registers as ModRM numbers them. */
enum { SP = 4, BP = 5, REX_W = 8, REX_R = 4, REX_B = 1 };

static unsigned int load_of_register(unsigned int reg, bool is_high)
{
	return reg == BP && !is_high ? OWN : BY_REGISTER + reg + (is_high ? 8 : 0);
}

static unsigned int load_of_memory(const uint8_t *modrm, uint8_t rex)
{
	unsigned int mod = modrm[0] >> 6, rm = modrm[0] & 7;

	if (rm == SP) /* SIB */
		rm = modrm[1] & 7;
	else if (rm == BP && !mod) /* an address alone */
		return FOREIGN;
	if (!(rex & REX_B) && rm == SP)
		return OWN;
	return load_of_register(rm, rex & REX_B);
}

static unsigned int load_of_modrm(uint8_t opcode, const uint8_t *modrm, uint8_t rex)
{
	bool is_direct = modrm[0] >> 6 == 3;
	unsigned int reg = modrm[0] >> 3 & 7, rm = modrm[0] & 7;
	bool is_reg_sp = reg == SP && !(rex & REX_R);
	bool is_rm_sp = is_direct && rm == SP && !(rex & REX_B);

	if (opcode == 0x8b && is_reg_sp)
		return is_direct ? load_of_register(rm, rex & REX_B) : load_of_memory(modrm, rex);
	if (opcode == 0x89 && is_rm_sp)
		return load_of_register(reg, rex & REX_R);
	if (opcode == 0x87 && (is_rm_sp || is_reg_sp))
		return FOREIGN;
	return opcode == 0x8d && is_reg_sp ? OWN : NONE;
}

static unsigned int load_of_x86(const uint8_t *b, uint8_t nr, enum isa isa)
{
	uint8_t rex = 0;

	while (nr && (*b == 0x64 || *b == 0x65 || *b == 0x3e || *b == 0x2e))
		b++, nr--;
	if (nr && isa == ISA_X86_64 && *b >> 4 == 4)
		rex = *b++, nr--;
	if (!nr || (isa == ISA_X86_64 && !(rex & REX_W) && *b != 0xc9))
		return NONE;
	if (*b == 0xc9) /* LEAVE */
		return OWN;
	if (*b == 0x90 + SP && !(rex & REX_B)) /* XCHG with rax */
		return FOREIGN;
	return nr >= 2 && (nr > 2 || b[1] >> 6 == 3 || (b[1] & 7) != SP)
		     ? load_of_modrm(*b, b + 1, rex)
		     : NONE;
}

/* Spec: Arm ARM (DDI 0487), "ADD (immediate)", "SUB (immediate)", "MOV (to/from SP)". */
static unsigned int load_of_a64(uint32_t w)
{
	enum { FP = 29, ZR = 31 };
	uint32_t rn = w >> 5 & 31;

	if ((w & 31) != ZR || (w & 0xbf000000) != 0x91000000)
		return NONE;
	if (rn == ZR)
		return NONE;
	return rn == FP ? OWN : BY_REGISTER + rn;
}

/* MOV (register), LDM with SP among what is loaded. */
static unsigned int load_of_a32(uint32_t w)
{
	uint32_t rm = w & 15, rn = w >> 16 & 15;

	if ((w & 0x0fffffe0) == 0x01a0d000)
		return rm == 11 ? OWN : BY_REGISTER + rm;
	if ((w & 0x0e102000) == 0x08102000)
		return rn == 13 || rn == 11 ? OWN : BY_REGISTER + rn;
	return NONE;
}

static unsigned int load_of_t32(const uint8_t *b)
{
	uint32_t w = b[0] | (uint32_t)b[1] << 8, rm = w >> 3 & 15;

	if ((w & 0xff87) != 0x4685)
		return NONE;
	return rm == 7 || rm == 11 ? OWN : BY_REGISTER + rm;
}

static unsigned int load_of(const uint8_t *b, uint8_t nr, enum isa isa)
{
	switch (isa) {
	case ISA_A64:
		return nr == 4 ? load_of_a64(load_le32(b)) : NONE;
	case ISA_A32:
		return nr == 4 ? load_of_a32(load_le32(b)) : NONE;
	case ISA_T32:
		return nr >= 2 ? load_of_t32(b) : NONE;
	case ISA_X86_64:
	case ISA_X86_32:
	case ISA_X86_16:
		return load_of_x86(b, nr, isa);
	case NR_ISAS:
		break;
	}
	return NONE;
}

/** Could any instruction of these bytes be a foreign load? Wherever it begins. */
static bool may_load(const uint8_t *b, size_t nr, enum isa isa)
{
	if (isa < ISA_X86_64)
		return true;
	for (size_t i = 0; i + 1 < nr; i++) {
		unsigned int modrm = b[i + 1];
		bool is_reg = (modrm >> 3 & 7) == SP, is_rm = modrm >> 6 == 3 && (modrm & 7) == SP;

		if ((b[i] == 0x8b && is_reg) || (b[i] == 0x89 && is_rm) ||
		    (b[i] == 0x87 && (is_reg || is_rm)) || b[i] == 0x90 + SP)
			return true;
	}
	return false;
}

static bool is_candidate(struct trace_synth *s, const struct last_insn *l)
{
	const uint8_t *bytes;
	size_t nr = flow_code_at(&s->code, l->space, l->start, &bytes), all = l->end - l->start;

	return nr && may_load(bytes, nr < all ? nr : all, (enum isa)l->isa);
}

/* --- registers that the stack pointer was saved in --- */

static bool saves_x86(const uint8_t *b, unsigned int reg, enum isa isa)
{
	bool is_high = reg >= 8;
	uint8_t modrm = (uint8_t)(0xc0 | SP << 3 | (reg & 7));

	if (isa == ISA_X86_64 && b[0] != 0x48 + (is_high ? REX_B : 0))
		return false;
	return b[1] == 0x89 && b[2] == modrm;
}

static bool saves(const uint8_t *b, unsigned int reg, enum isa isa)
{
	if (isa == ISA_A64) /* MOV xN, SP */
		return load_le32(b) == (0x910003e0 | reg);
	if (isa == ISA_A32)
		return (load_le32(b) & 0x0fffffff) == (0x01a0000d | reg << 12);
	if (isa == ISA_T32)
		return b[1] == 0x46 && b[0] == (0x68 | (reg & 7) | (reg & 8) << 4);
	return saves_x86(b, reg, isa);
}

/** Was it saved there, in what stands before? */
static bool was_saved(struct trace_synth *s, unsigned int reg)
{
	const struct last_insn *l = &s->last;
	const uint8_t *b;
	uint64_t from = l->start - BACK_BYTES;
	size_t nr = flow_code_at(&s->code, l->space, from, &b), all = l->end - from;

	if (!nr) { /* the code begins later */
		from = l->start & ~(uint64_t)0xfff;
		nr = flow_code_at(&s->code, l->space, from, &b);
		all = l->end - from;
	}
	nr = nr < all ? nr : all;
	for (size_t i = 0; i + 4 <= nr; i++) {
		if (saves(b + i, reg, (enum isa)l->isa))
			return true;
	}
	return false;
}

static bool find(struct trace_synth *s)
{
	unsigned int last = NONE, load;
	uint8_t bytes[FLOW_MAX_INSN_BYTES], size;
	const struct last_insn *l = &s->last;

	if (!is_candidate(s, l))
		return false;
	for (uint64_t at = l->start; at < l->end; at += size) {
		size = s->code.insns->read(&s->code, l->space, (enum isa)l->isa, at, bytes);
		if (!size)
			break;
		load = load_of(bytes, size, (enum isa)l->isa);
		last = load ? load : last;
	}
	return last == FOREIGN || (last >= BY_REGISTER && !was_saved(s, last - BY_REGISTER));
}

bool trace_switches_stack(struct trace_synth *s)
{
	struct block_locs *known;

	if (s->last.start >= s->last.end)
		return false;
	known = trace_exec_locs_of_last(s);
	if (!known)
		return find(s);
	if (!known->switches)
		known->switches = find(s) ? SWITCHES : SWITCHES_NOT;
	return known->switches == SWITCHES;
}
