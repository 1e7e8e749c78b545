/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_branch.h"

#ifdef CLEW_HAS_ZYDIS
# include <Zydis/Zydis.h>

# include "isa/x86/x86_lengths.h"
# include "isa/x86/x86_newer.h"

_Atomic uint64_t x86_lengths[1 << X86_LENGTHS_BITS];

/* clang-format off */
#define CLASS(name, kind, flags, detail) [ZYDIS_MNEMONIC_##name] = {kind, flags, detail}
#define COND(name)                       CLASS(name, INSN_COND, 0, X86_NONE)
#define FAR(name, detail)                CLASS(name, INSN_FAR, 0, detail)
#define SPECIAL(name, detail)            CLASS(name, INSN_SPECIAL, 0, detail)

/* What is not here is INSN_PLAIN. What of JMP, CALL and RET is direct or far, and which MOV is to
 * CR3: class_of(). */
static const struct {
	uint8_t kind, flags, detail;
} classes[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	COND(JO), COND(JNO), COND(JB), COND(JNB),
	COND(JZ), COND(JNZ), COND(JBE), COND(JNBE),
	COND(JS), COND(JNS), COND(JP), COND(JNP),
	COND(JL), COND(JNL), COND(JLE), COND(JNLE),
	COND(LOOPNE), COND(LOOPE), COND(LOOP), COND(JCXZ),
	COND(JECXZ), COND(JRCXZ),
	CLASS(JMP,  INSN_INDIRECT, 0,         X86_FAR_JUMP),
	CLASS(CALL, INSN_INDIRECT, INSN_LINK, X86_FAR_CALL),
	CLASS(RET,  INSN_INDIRECT, INSN_RET,  X86_FAR_RETURN),
	FAR(SYSCALL, X86_SYSCALL), FAR(SYSENTER, X86_SYSCALL),
	FAR(SYSRET, X86_SYSRET), FAR(SYSEXIT, X86_SYSRET),
	FAR(IRET, X86_IRET), FAR(IRETD, X86_IRET), FAR(IRETQ, X86_IRET),
	FAR(UIRET, X86_IRET), FAR(RSM, X86_IRET),
	FAR(VMLAUNCH, X86_VM_ENTRY), FAR(VMRESUME, X86_VM_ENTRY), FAR(VMRUN, X86_VM_ENTRY),
	SPECIAL(INT, X86_INT), SPECIAL(INT1, X86_INT), SPECIAL(INT3, X86_INT), SPECIAL(INTO, X86_INT),
	SPECIAL(VMCALL, X86_VM_CALL), SPECIAL(VMMCALL, X86_VM_CALL),
	SPECIAL(VMPTRLD, X86_VMPTRLD),
	SPECIAL(PTWRITE, X86_PTWRITE),
	CLASS(XBEGIN, INSN_TSTART, 0, X86_NONE),
};
/* clang-format on */

static void start(ZydisDecoder *d, enum isa mode)
{
	if (mode == ISA_X86_64)
		ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else if (mode == ISA_X86_32)
		ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
	/* Operands and their checks are not needed. */
	ZydisDecoderEnableMode(d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

/** JMP, CALL, RET with 9A, CA, CB, EA, FF /3, FF /5. */
static bool is_far(const ZydisDecodedInstruction *z)
{
	if (z->opcode == 0xff)
		return z->raw.modrm.reg == 3 || z->raw.modrm.reg == 5;
	return z->opcode == 0x9a || z->opcode == 0xea || z->opcode == 0xca || z->opcode == 0xcb;
}

static uint64_t target_of(const ZydisDecodedInstruction *z, uint64_t pc)
{
	uint64_t to = pc + z->length + (uint64_t)z->raw.imm[0].value.s;

	return z->operand_width == 64 ? to : to & (UINT64_MAX >> (64 - z->operand_width));
}

static bool is_mov_cr3(const ZydisDecodedInstruction *z)
{
	return z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->opcode == 0x22 && z->raw.modrm.reg == 3 &&
	       !z->raw.rex.R;
}

static struct insn class_of(const ZydisDecodedInstruction *z, uint64_t pc)
{
	struct insn ret = {.kind = classes[z->mnemonic].kind,
			   .flags = classes[z->mnemonic].flags,
			   .detail = classes[z->mnemonic].detail,
			   .bytes = z->length};

	if (is_mov_cr3(z)) {
		ret.kind = INSN_SPECIAL;
		ret.detail = X86_MOV_CR3;
	} else if (ret.kind == INSN_INDIRECT && is_far(z)) {
		ret.kind = INSN_FAR;
		ret.flags = 0;
	} else if (ret.kind == INSN_INDIRECT) {
		ret.detail = X86_NONE;
		if (z->raw.imm[0].is_relative)
			ret.kind = INSN_BRANCH;
	}
	if (ret.kind == INSN_BRANCH || ret.kind == INSN_COND)
		ret.target = target_of(z, pc);
	return ret;
}

/** Bytes before displacement and immediates. */
static unsigned int nr_header_bytes(const ZydisDecodedInstruction *z)
{
	unsigned int ret = z->length;

	if (z->raw.disp.size && z->raw.disp.offset < ret)
		ret = z->raw.disp.offset;
	for (int i = 0; i < 2; i++) {
		if (z->raw.imm[i].size && z->raw.imm[i].offset < ret)
			ret = z->raw.imm[i].offset;
	}
	return ret;
}

static void keep_length(enum isa mode, const uint8_t *code, size_t bytes,
			const ZydisDecodedInstruction *z)
{
	/* An opcode of 3DNow! comes after the displacement. */
	if (bytes >= X86_LENGTHS_MOST && z->encoding != ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		x86_lengths_keep(mode, code, nr_header_bytes(z), z->length);
}

/** May something that Zydis refuses be an instruction that it does not know? */
static bool may_be_newer(ZyanStatus s)
{
	return s != ZYDIS_STATUS_INSTRUCTION_TOO_LONG && s != ZYDIS_STATUS_ILLEGAL_LOCK &&
	       s != ZYDIS_STATUS_ILLEGAL_LEGACY_PFX && s != ZYDIS_STATUS_ILLEGAL_REX;
}

static enum clew_err decode(const ZydisDecoder *d, enum isa mode, const uint8_t *code, size_t bytes,
			    uint64_t pc, struct insn *ret)
{
	ZydisDecodedInstruction z;
	ZyanStatus s = ZydisDecoderDecodeInstruction(d, NULL, code, bytes, &z);

	if (ZYAN_SUCCESS(s)) {
		*ret = class_of(&z, pc);
		if (ret->kind == INSN_PLAIN)
			keep_length(mode, code, bytes, &z);
		return CLEW_OK;
	}
	if (s == ZYDIS_STATUS_NO_MORE_DATA)
		return CLEW_TRUNCATED;
	return may_be_newer(s) ? x86_newer(mode, code, bytes, pc, ret) : CLEW_BAD_PACKET;
}

bool x86_can_decode(void)
{
	return true;
}

enum clew_err x86_decode(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
			 struct insn *ret)
{
	ZydisDecoder d;

	start(&d, mode);
	return decode(&d, mode, code, bytes, pc, ret);
}

/** @return bytes of the plain instruction at @p code; 0: it has to be decoded. */
static uint8_t plain_length(enum isa mode, const uint8_t *code, size_t bytes)
{
	uint8_t ret = bytes < X86_LENGTHS_MOST ? 0 : x86_lengths_find(mode, code);

	return ret <= bytes ? ret : 0;
}

size_t x86_find_branch(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
		       uint32_t *ret_nr, struct insn *ret)
{
	ZydisDecoder d;
	size_t at = 0;

	start(&d, mode);
	for (*ret_nr = 0;; ++*ret_nr) {
		uint8_t length = plain_length(mode, code + at, bytes - at);

		if (!length) {
			if (decode(&d, mode, code + at, bytes - at, pc + at, ret) != CLEW_OK)
				break;
			if (ret->kind != INSN_PLAIN)
				return at;
			length = ret->bytes;
		}
		at += length;
	}
	*ret = (struct insn){0};
	return at;
}
#else
bool x86_can_decode(void)
{
	return false;
}

enum clew_err x86_decode(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
			 struct insn *ret)
{
	(void)mode;
	(void)code;
	(void)bytes;
	(void)pc;
	(void)ret;
	return CLEW_UNSUPPORTED;
}

size_t x86_find_branch(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
		       uint32_t *ret_nr, struct insn *ret)
{
	(void)mode;
	(void)code;
	(void)bytes;
	(void)pc;
	*ret_nr = 0;
	*ret = (struct insn){0};
	return 0;
}
#endif
