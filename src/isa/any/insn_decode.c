/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/any/insn_decode.h"

#include <elf.h>

#include "isa/a32/a32_branch.h"
#include "isa/a64/a64_branch.h"
#include "isa/x86/x86_branch.h"

enum isa isa_of_machine(uint16_t machine, bool is_thumb)
{
	switch (machine) {
	case EM_X86_64:
		return ISA_X86_64;
	case EM_386:
		return ISA_X86_32;
	case EM_AARCH64:
		return ISA_A64;
	case EM_ARM:
		return is_thumb ? ISA_T32 : ISA_A32;
	default:
		return NR_ISAS;
	}
}

bool insn_can_decode(enum isa isa)
{
	bool is_x86 = isa == ISA_X86_64 || isa == ISA_X86_32 || isa == ISA_X86_16;

	return isa != NR_ISAS && (!is_x86 || x86_can_decode());
}

static uint32_t word_at(const uint8_t *p, size_t bytes)
{
	uint32_t w = 0;

	for (size_t i = 0; i < bytes; i++)
		w |= (uint32_t)p[i] << 8 * i;
	return w;
}

size_t insn_decode(enum isa isa, const uint8_t *p, size_t left, uint64_t pc, struct insn *ret)
{
	*ret = (struct insn){.kind = INSN_PLAIN};
	switch (isa) {
	case ISA_A64:
		if (left >= 4)
			*ret = a64_decode(word_at(p, 4), pc);
		return left >= 4 ? 4 : 0;
	case ISA_A32:
		if (left >= 4)
			*ret = a32_decode(word_at(p, 4), pc);
		return left >= 4 ? 4 : 0;
	case ISA_T32:
		if (left < 2 || (t32_is_wide(p[1]) && left < 4))
			return 0;
		*ret = t32_decode(word_at(p, 2) << 16 | (left < 4 ? 0 : word_at(p + 2, 2)), pc);
		return ret->bytes;
	case ISA_X86_64:
	case ISA_X86_32:
	case ISA_X86_16:
		return x86_decode(isa, p, left, pc, ret) ? 0 : ret->bytes;
	case NR_ISAS:
		break;
	}
	return 0;
}
