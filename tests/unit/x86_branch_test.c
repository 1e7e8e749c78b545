// SPDX-License-Identifier: LGPL-2.1-or-later
#include "isa/x86/x86_branch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { M64 = 1, M32 = 2, M16 = 4, OLD = M32 | M16, ALL = M64 | OLD };
enum { CALL = INSN_LINK, RET = INSN_RET };

static const struct {
	enum isa isa;
	const char *name;
	unsigned int bits;
	uint64_t pc;
} modes[] = {
	{ISA_X86_64, "64", 64, UINT64_C(0x7f0000401000)},
	{ISA_X86_32, "32", 32, 0x8048000               },
	{ISA_X86_16, "16", 16, 0x7c00                  },
};

/* clang-format off */
static const struct insn_case {
	const char *text;
	uint8_t modes;
	const char *hex; /* the whole instruction */
	uint8_t kind, flags, detail;
	int64_t to;         /* target, from the instruction's start */
	unsigned int width; /* which the target is cut to; 0: the mode's */
} cases[] = {
	/* one-byte opcodes */
	{"jo rel8",              ALL, "70 10",             INSN_COND, 0, 0, 0x12, 0},
	{"jno rel8 back",        ALL, "71 fe",             INSN_COND, 0, 0, 0, 0},
	{"jg rel8 back",         ALL, "7f 80",             INSN_COND, 0, 0, -0x7e, 0},
	{"loopne",               ALL, "e0 02",             INSN_COND, 0, 0, 4, 0},
	{"loope",                ALL, "e1 02",             INSN_COND, 0, 0, 4, 0},
	{"loop",                 ALL, "e2 fe",             INSN_COND, 0, 0, 0, 0},
	{"jrcxz, jecxz, jcxz",   ALL, "e3 7f",             INSN_COND, 0, 0, 0x81, 0},
	{"jecxz, jcxz by 67",    ALL, "67 e3 7f",          INSN_COND, 0, 0, 0x82, 0},
	{"jmp rel8",             ALL, "eb fe",             INSN_BRANCH, 0, 0, 0, 0},
	{"jmp rel32",            M64 | M32, "e9 fb ff ff ff", INSN_BRANCH, 0, 0, 0, 0},
	{"jmp rel16",            M16, "e9 fd ff",          INSN_BRANCH, 0, 0, 0, 0},
	{"call rel32",           M64 | M32, "e8 00 10 00 00", INSN_BRANCH, CALL, 0, 0x1005, 0},
	{"call rel32, far back", M64 | M32, "e8 00 00 00 80", INSN_BRANCH, CALL, 0, INT64_C(-0x7ffffffb), 0},
	{"call to the next",     M64 | M32, "e8 00 00 00 00", INSN_BRANCH, CALL, 0, 5, 0},
	{"call rel16",           M16, "e8 00 10",          INSN_BRANCH, CALL, 0, 0x1003, 0},
	{"ret",                  ALL, "c3",                INSN_INDIRECT, RET, 0, 0, 0},
	{"ret imm16",            ALL, "c2 08 00",          INSN_INDIRECT, RET, 0, 0, 0},
	{"retf",                 ALL, "cb",                INSN_FAR, 0, X86_FAR_RETURN, 0, 0},
	{"retf imm16",           ALL, "ca 08 00",          INSN_FAR, 0, X86_FAR_RETURN, 0, 0},
	{"int1",                 ALL, "f1",                INSN_SPECIAL, 0, X86_INT, 0, 0},
	{"int3",                 ALL, "cc",                INSN_SPECIAL, 0, X86_INT, 0, 0},
	{"int 80",               ALL, "cd 80",             INSN_SPECIAL, 0, X86_INT, 0, 0},
	{"into",                 OLD, "ce",                INSN_SPECIAL, 0, X86_INT, 0, 0},
	{"iret",                 ALL, "cf",                INSN_FAR, 0, X86_IRET, 0, 0},
	{"iretq",                M64, "48 cf",             INSN_FAR, 0, X86_IRET, 0, 0},
	{"iretw, iretd",         ALL, "66 cf",             INSN_FAR, 0, X86_IRET, 0, 0},
	{"call far 16:32",       M32, "9a 01 02 03 04 05 06", INSN_FAR, 0, X86_FAR_CALL, 0, 0},
	{"call far 16:16",       M16, "9a 01 02 03 04",    INSN_FAR, 0, X86_FAR_CALL, 0, 0},
	{"call far 16:16 by 66", M32, "66 9a 01 02 03 04", INSN_FAR, 0, X86_FAR_CALL, 0, 0},
	{"jmp far 16:32",        M32, "ea 01 02 03 04 05 06", INSN_FAR, 0, X86_FAR_JUMP, 0, 0},
	{"jmp far 16:32 by 66",  M16, "66 ea 01 02 03 04 05 06", INSN_FAR, 0, X86_FAR_JUMP, 0, 0},
	/* group 5 */
	{"call reg",             ALL, "ff d0",             INSN_INDIRECT, CALL, 0, 0, 0},
	{"call r11",             M64, "41 ff d3",          INSN_INDIRECT, CALL, 0, 0, 0},
	{"call [disp32]",        M64 | M32, "ff 15 01 02 03 04", INSN_INDIRECT, CALL, 0, 0, 0},
	{"call [sib disp8]",     M64 | M32, "ff 54 24 08", INSN_INDIRECT, CALL, 0, 0, 0},
	{"call [disp16]",        M16, "ff 16 01 02",       INSN_INDIRECT, CALL, 0, 0, 0},
	{"jmp reg",              ALL, "ff e0",             INSN_INDIRECT, 0, 0, 0, 0},
	{"jmp [table]",          M64 | M32, "ff 24 c5 01 02 03 04", INSN_INDIRECT, 0, 0, 0, 0},
	{"jmp fs:[disp32]",      M64 | M32, "64 ff 25 01 02 03 04", INSN_INDIRECT, 0, 0, 0, 0},
	{"notrack jmp reg",      ALL, "3e ff e0",          INSN_INDIRECT, 0, 0, 0, 0},
	{"notrack jmp r10",      M64, "3e 41 ff e2",       INSN_INDIRECT, 0, 0, 0, 0},
	{"notrack call reg",     ALL, "3e ff d1",          INSN_INDIRECT, CALL, 0, 0, 0},
	{"bnd jmp [rip]",        M64, "f2 ff 25 01 02 03 04", INSN_INDIRECT, 0, 0, 0, 0},
	{"call far [mem]",       ALL, "ff 18",             INSN_FAR, 0, X86_FAR_CALL, 0, 0},
	{"call far m16:64",      M64, "48 ff 18",          INSN_FAR, 0, X86_FAR_CALL, 0, 0},
	{"jmp far [mem]",        ALL, "ff 28",             INSN_FAR, 0, X86_FAR_JUMP, 0, 0},
	{"jmp far m16:64",       M64, "48 ff 6d 00",       INSN_FAR, 0, X86_FAR_JUMP, 0, 0},
	{"inc reg",              ALL, "ff c0",             INSN_PLAIN, 0, 0, 0, 0},
	{"dec [mem]",            ALL, "ff 08",             INSN_PLAIN, 0, 0, 0, 0},
	{"push [mem]",           ALL, "ff 30",             INSN_PLAIN, 0, 0, 0, 0},
	/* 0F opcodes */
	{"jo rel32",             M64 | M32, "0f 80 00 01 00 00", INSN_COND, 0, 0, 0x106, 0},
	{"jg rel32",             M64 | M32, "0f 8f fa ff ff ff", INSN_COND, 0, 0, 0, 0},
	{"je rel16",             M16, "0f 84 00 01",       INSN_COND, 0, 0, 0x104, 0},
	{"syscall",              M64, "0f 05",             INSN_FAR, 0, X86_SYSCALL, 0, 0},
	{"sysret",               M64, "0f 07",             INSN_FAR, 0, X86_SYSRET, 0, 0},
	{"sysretq",              M64, "48 0f 07",          INSN_FAR, 0, X86_SYSRET, 0, 0},
	{"sysenter",             ALL, "0f 34",             INSN_FAR, 0, X86_SYSCALL, 0, 0},
	{"sysexit",              ALL, "0f 35",             INSN_FAR, 0, X86_SYSRET, 0, 0},
	{"sysexitq",             M64, "48 0f 35",          INSN_FAR, 0, X86_SYSRET, 0, 0},
	{"rsm",                  ALL, "0f aa",             INSN_FAR, 0, X86_IRET, 0, 0},
	{"uiret",                M64, "f3 0f 01 ec",       INSN_FAR, 0, X86_IRET, 0, 0},
	{"vmcall",               ALL, "0f 01 c1",          INSN_SPECIAL, 0, X86_VM_CALL, 0, 0},
	{"vmmcall",              ALL, "0f 01 d9",          INSN_SPECIAL, 0, X86_VM_CALL, 0, 0},
	{"vmlaunch",             ALL, "0f 01 c2",          INSN_FAR, 0, X86_VM_ENTRY, 0, 0},
	{"vmresume",             ALL, "0f 01 c3",          INSN_FAR, 0, X86_VM_ENTRY, 0, 0},
	{"vmrun",                ALL, "0f 01 d8",          INSN_FAR, 0, X86_VM_ENTRY, 0, 0},
	{"vmxoff",               ALL, "0f 01 c4",          INSN_PLAIN, 0, 0, 0, 0},
	{"vmptrld [mem]",        ALL, "0f c7 30",          INSN_SPECIAL, 0, X86_VMPTRLD, 0, 0},
	{"vmclear [mem]",        ALL, "66 0f c7 30",       INSN_PLAIN, 0, 0, 0, 0},
	{"vmxon [mem]",          ALL, "f3 0f c7 30",       INSN_PLAIN, 0, 0, 0, 0},
	{"rdrand reg",           ALL, "0f c7 f0",          INSN_PLAIN, 0, 0, 0, 0},
	{"ptwrite reg",          ALL, "f3 0f ae e0",       INSN_SPECIAL, 0, X86_PTWRITE, 0, 0},
	{"ptwrite r64",          M64, "f3 48 0f ae e0",    INSN_SPECIAL, 0, X86_PTWRITE, 0, 0},
	{"ptwrite [mem]",        ALL, "f3 0f ae 20",       INSN_SPECIAL, 0, X86_PTWRITE, 0, 0},
	{"xsave [mem]",          ALL, "0f ae 20",          INSN_PLAIN, 0, 0, 0, 0},
	{"mov cr3, reg",         ALL, "0f 22 d8",          INSN_SPECIAL, 0, X86_MOV_CR3, 0, 0},
	{"mov cr3, r8",          M64, "41 0f 22 d8",       INSN_SPECIAL, 0, X86_MOV_CR3, 0, 0},
	{"mov cr3, mod 00",      ALL, "0f 22 18",          INSN_SPECIAL, 0, X86_MOV_CR3, 0, 0},
	{"mov cr4, reg",         ALL, "0f 22 e0",          INSN_PLAIN, 0, 0, 0, 0},
	{"mov reg, cr3",         ALL, "0f 20 d8",          INSN_PLAIN, 0, 0, 0, 0},
	{"mov dr3, reg",         ALL, "0f 23 d8",          INSN_PLAIN, 0, 0, 0, 0},
	{"xbegin rel32",         M64 | M32, "c7 f8 01 02 03 04", INSN_TSTART, 0, 0, 0, 0},
	{"xbegin rel16",         M16, "c7 f8 01 02",       INSN_TSTART, 0, 0, 0, 0},
	{"xabort",               ALL, "c6 f8 01",          INSN_PLAIN, 0, 0, 0, 0},
	{"xend",                 ALL, "0f 01 d5",          INSN_PLAIN, 0, 0, 0, 0},
	{"mov reg, imm32",       M64 | M32, "c7 c0 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"wrmsr",                ALL, "0f 30",             INSN_PLAIN, 0, 0, 0, 0},
	{"ud2",                  ALL, "0f 0b",             INSN_PLAIN, 0, 0, 0, 0},
	{"endbr64",              ALL, "f3 0f 1e fa",       INSN_PLAIN, 0, 0, 0, 0},
	/* prefixes of near branches */
	{"66 jmp rel16",         M32, "66 e9 00 01",       INSN_BRANCH, 0, 0, 0x104, 16},
	{"66 jmp rel32",         M16, "66 e9 00 01 00 00", INSN_BRANCH, 0, 0, 0x106, 32},
	{"66 jmp, ignored",      M64, "66 e9 00 01 00 00", INSN_BRANCH, 0, 0, 0x106, 0},
	{"66 call, ignored",     M64, "66 e8 00 01 00 00", INSN_BRANCH, CALL, 0, 0x106, 0},
	{"66 rex.w call (TLS)",  M64, "66 48 e8 00 01 00 00", INSN_BRANCH, CALL, 0, 0x107, 0},
	{"66 jcc, ignored",      M64, "66 0f 84 00 01 00 00", INSN_COND, 0, 0, 0x107, 0},
	{"66 jcc rel16",         M32, "66 0f 84 00 01",    INSN_COND, 0, 0, 0x105, 16},
	{"66 jcc rel8 cuts ip",  M32, "66 74 10",          INSN_COND, 0, 0, 0x13, 16},
	{"66 jmp rel8",          M64, "66 eb 10",          INSN_BRANCH, 0, 0, 0x13, 0},
	{"66 ret",               ALL, "66 c3",             INSN_INDIRECT, RET, 0, 0, 0},
	{"bnd jmp rel32",        M64 | M32, "f2 e9 00 01 00 00", INSN_BRANCH, 0, 0, 0x106, 0},
	{"bnd call rel32",       M64 | M32, "f2 e8 00 01 00 00", INSN_BRANCH, CALL, 0, 0x106, 0},
	{"bnd jcc rel8",         ALL, "f2 74 10",          INSN_COND, 0, 0, 0x13, 0},
	{"bnd ret",              ALL, "f2 c3",             INSN_INDIRECT, RET, 0, 0, 0},
	{"rep ret",              ALL, "f3 c3",             INSN_INDIRECT, RET, 0, 0, 0},
	{"jcc hint taken",       ALL, "3e 75 10",          INSN_COND, 0, 0, 0x13, 0},
	{"jcc hint not taken",   ALL, "2e 75 10",          INSN_COND, 0, 0, 0x13, 0},
	{"67 call (padding)",    M64, "67 e8 00 01 00 00", INSN_BRANCH, CALL, 0, 0x106, 0},
	{"rex.w call",           M64, "48 e8 00 01 00 00", INSN_BRANCH, CALL, 0, 0x106, 0},
	{"rex before 66: no rex", M64, "48 66 c7 00 01 02", INSN_PLAIN, 0, 0, 0, 0},
	/* lengths */
	{"nop of 11",            M64, "66 66 2e 0f 1f 84 00 00 00 00 00", INSN_PLAIN, 0, 0, 0, 0},
	{"mov r64, imm64",       M64, "48 b8 01 02 03 04 05 06 07 08", INSN_PLAIN, 0, 0, 0, 0},
	{"mov eax, [moffs64]",   M64, "a1 01 02 03 04 05 06 07 08", INSN_PLAIN, 0, 0, 0, 0},
	{"mov eax, [moffs32]",   M64, "67 a1 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"mov eax, [moffs32]",   M32, "a1 01 02 03 04",    INSN_PLAIN, 0, 0, 0, 0},
	{"mov ax, [moffs16]",    M16, "a1 01 02",          INSN_PLAIN, 0, 0, 0, 0},
	{"mov reg, imm16 by 66", M64 | M32, "66 b8 01 02", INSN_PLAIN, 0, 0, 0, 0},
	{"mov reg, imm32 by 66", M16, "66 b8 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"enter",                ALL, "c8 01 02 03",       INSN_PLAIN, 0, 0, 0, 0},
	{"test reg, imm (F7 /0)", M64 | M32, "f7 c0 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"not reg (F7 /2)",      ALL, "f7 d0",             INSN_PLAIN, 0, 0, 0, 0},
	{"lea [bx+disp16]",      M16, "8d 87 01 02",       INSN_PLAIN, 0, 0, 0, 0},
	{"lea [bx+disp16] by 67", M32, "67 8d 87 01 02",   INSN_PLAIN, 0, 0, 0, 0},
	{"lea [edi+disp32] by 67", M16, "67 8d 87 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"rep movs",             ALL, "f3 a5",             INSN_PLAIN, 0, 0, 0, 0},
	{"15 bytes",             ALL, "f0 2e 66 66 66 66 66 66 66 66 66 66 66 00 00", INSN_PLAIN, 0, 0, 0, 0},
	/* VEX, EVEX, XOP: never a branch, whatever the opcode */
	{"vpaddd",               ALL, "c5 f5 fe c2",       INSN_PLAIN, 0, 0, 0, 0},
	{"vzeroupper",           ALL, "c5 f8 77",          INSN_PLAIN, 0, 0, 0, 0},
	{"vpalignr imm8",        ALL, "c4 e3 75 0f c2 08", INSN_PLAIN, 0, 0, 0, 0},
	{"andn",                 ALL, "c4 e2 78 f2 c1",    INSN_PLAIN, 0, 0, 0, 0},
	{"vpermq imm8 [disp32]", M64 | M32, "c4 e3 fd 00 80 01 02 03 04 4e", INSN_PLAIN, 0, 0, 0, 0},
	{"kmovw (VEX 92)",       ALL, "c5 f8 92 c0",       INSN_PLAIN, 0, 0, 0, 0},
	{"vaddps zmm",           ALL, "62 f1 74 48 58 c2", INSN_PLAIN, 0, 0, 0, 0},
	{"vmovdqu64 disp8*N",    M64 | M32, "62 f1 fe 48 6f 44 24 01", INSN_PLAIN, 0, 0, 0, 0},
	{"vpternlogd imm8",      ALL, "62 f3 75 48 25 c2 ff", INSN_PLAIN, 0, 0, 0, 0},
	{"vpermt2d (EVEX 7E)",   ALL, "62 f2 75 48 7e c2", INSN_PLAIN, 0, 0, 0, 0},
	{"bextr imm32 (XOP)",    M64 | M32, "8f ea 78 10 c1 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"les reg, [mem]",       OLD, "c4 00",             INSN_PLAIN, 0, 0, 0, 0},
	{"lds reg, [mem]",       OLD, "c5 00",             INSN_PLAIN, 0, 0, 0, 0},
	{"bound reg, [mem]",     OLD, "62 00",             INSN_PLAIN, 0, 0, 0, 0},
	{"pop reg (8F /0)",      ALL, "8f c0",             INSN_PLAIN, 0, 0, 0, 0},
	{"3DNow! pfadd",         ALL, "0f 0f c1 9e",       INSN_PLAIN, 0, 0, 0, 0},
	/* what Zydis 4.0 does not know */
	{"call r16",             M64, "d5 10 ff d0",       INSN_INDIRECT, CALL, 0, 0, 0},
	{"jmp r24",              M64, "d5 11 ff e0",       INSN_INDIRECT, 0, 0, 0, 0},
	{"call far m16:64 [r16]", M64, "d5 18 ff 18",      INSN_FAR, 0, X86_FAR_CALL, 0, 0},
	{"mov cr3, r16",         M64, "d5 90 22 d8",       INSN_SPECIAL, 0, X86_MOV_CR3, 0, 0},
	{"add rax, imm32 (REX2)", M64, "d5 08 05 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"mov r16w, imm16",      M64, "66 d5 10 b8 01 02", INSN_PLAIN, 0, 0, 0, 0},
	{"movzx, map 1 of REX2", M64, "d5 c0 b6 44 24 01", INSN_PLAIN, 0, 0, 0, 0},
	{"lock add [r16], eax",  M64, "f0 d5 10 01 00",    INSN_PLAIN, 0, 0, 0, 0},
	{"jmpabs",               M64, "d5 00 a1 01 02 03 04 05 06 07 08", INSN_INDIRECT, 0, 0, 0, 0},
	{"erets",                M64, "f2 0f 01 ca",       INSN_FAR, 0, X86_IRET, 0, 0},
	{"eretu",                M64, "f3 0f 01 ca",       INSN_FAR, 0, X86_IRET, 0, 0},
	{"wrmsrns",              M64, "0f 01 c6",          INSN_PLAIN, 0, 0, 0, 0},
	{"lkgs [mem]",           M64, "f2 0f 00 30",       INSN_PLAIN, 0, 0, 0, 0},
	{"axor [mem], reg", M64 | M32, "f3 0f 38 fc 44 24 08", INSN_PLAIN, 0, 0, 0, 0},
	{"cmpoxadd",             M64, "c4 e2 71 e0 02",    INSN_PLAIN, 0, 0, 0, 0},
	{"urdmsr imm32",         M64, "c4 e7 7b f8 c0 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"add ax, imm16 (EVEX)", M64, "62 f4 7d 08 81 c0 01 02", INSN_PLAIN, 0, 0, 0, 0},
	{"add rax, imm32, W over 66", M64, "62 f4 fd 08 81 c0 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	{"ctest al, imm8",       M64, "62 f4 04 08 f6 c0 01", INSN_PLAIN, 0, 0, 0, 0},
	{"not al (EVEX)",        M64, "62 f4 7c 18 f6 d0", INSN_PLAIN, 0, 0, 0, 0},
	{"vpaddd [r21+r8]: disp32", M64, "62 f9 7d 48 fe 14 05 01 02 03 04", INSN_PLAIN, 0, 0, 0, 0},
	/* one byte in 64-bit mode is a prefix, elsewhere INC, DEC, AAD */
	{"inc reg",              OLD, "40",                INSN_PLAIN, 0, 0, 0, 0},
	{"dec reg",              OLD, "4f",                INSN_PLAIN, 0, 0, 0, 0},
	{"aad",                  OLD, "d5 0a",             INSN_PLAIN, 0, 0, 0, 0},
};

static const struct {
	const char *text;
	uint8_t modes;
	const char *hex;
} undefined[] = {
	{"call far 9a", M64, "9a 01 02 03 04 05 06"},
	{"jmp far ea", M64, "ea 01 02 03 04 05 06"},
	{"into", M64, "ce"},
	{"push es", M64, "06"},
	{"aam", M64, "d4 0a"},
	{"ff /7", ALL, "ff f8"},
	{"call far reg", ALL, "ff d8"},
	{"0f 04", ALL, "0f 04"},
	{"16 bytes", ALL, "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90"},
	{"16 bytes by displacement", M64 | M32, "66 66 66 66 66 66 66 66 c7 80 01 02 03 04 05 06"},
	{"prefixes without end", ALL, "f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2"},
	{"rex before vex", M64, "48 c5 f8 77"},
	{"lock jmp", ALL, "f0 eb 00"},
	{"lock add reg, r16", M64, "f0 d5 10 01 c0"},
	{"mov cr1, reg", ALL, "0f 22 c8"},
	{"REX2 with jcc rel8", M64, "d5 00 70 00"},
	{"REX2 with jcc rel32", M64, "d5 80 84 00 00 00 00"},
	{"REX2 with jmp", M64, "d5 00 eb 00"},
	{"REX2 with 0F", M64, "d5 00 0f 05"},
	{"REX2 with a prefix", M64, "d5 00 66 90"},
	{"REX2 with VEX", M64, "d5 00 c5 f8 77"},
	{"66 jmpabs", M64, "66 d5 00 a1 01 02 03 04 05 06 07 08"},
	{"16 bytes by REX2", M64, "66 66 66 66 66 66 66 d5 00 c7 84 24 01 02 03 04 05 06 07 08"},
	{"EVEX map 0", M64, "62 f0 7c 48 58 c2"},
	{"EVEX map 4", OLD, "62 f4 7c 08 81 c0 01 02 03 04"},
	{"erets without prefix is clac", ALL, "66 0f 01 ca"},
	{"erets", OLD, "f2 0f 01 ca"},
};
/* clang-format on */

static size_t bytes_of(const char *hex, uint8_t *ret)
{
	size_t n = 0;
	char *end;

	for (; *hex; hex = end)
		ret[n++] = (uint8_t)strtoul(hex, &end, 16);
	return n;
}

static uint64_t want_target(const struct insn_case *c, unsigned int m)
{
	unsigned int bits = c->width ? c->width : modes[m].bits;

	if (c->kind != INSN_BRANCH && c->kind != INSN_COND)
		return 0;
	return (modes[m].pc + (uint64_t)c->to) & (UINT64_MAX >> (64 - bits));
}

/** As its row says, whatever follows it. */
static bool is_as_said(const struct insn_case *c, unsigned int m, uint8_t *code, size_t n)
{
	struct insn i = {0};
	uint64_t target = want_target(c, m);
	enum clew_err err;

	for (unsigned int fill = 0; fill < 256; fill += 51) {
		memset(code + n, (int)fill, 16);
		err = x86_decode(modes[m].isa, code, n + (fill ? 16 : 0), modes[m].pc, &i);
		if (err == CLEW_OK && i.bytes == n && i.kind == c->kind && i.flags == c->flags &&
		    i.detail == c->detail && i.target == target)
			continue;
		printf("# %s in %s: err %d, %u of %zu bytes, kind %u flags %u detail %u target %" PRIx64
		       ", want %" PRIx64 "\n",
		       c->text, modes[m].name, err, i.bytes, n, i.kind, i.flags, i.detail, i.target,
		       target);
		return false;
	}
	return true;
}

static bool is_cut(unsigned int m, const uint8_t *code, size_t n)
{
	for (size_t part = 0; part < n; part++) {
		struct insn i = {.bytes = 99};
		uint8_t *copy = malloc(part ? part : 1); /* its end is watched under sanitizers */
		enum clew_err err;

		if (!copy)
			return false;
		memcpy(copy, code, part);
		err = x86_decode(modes[m].isa, copy, part, 0, &i);
		free(copy);
		if (err != CLEW_TRUNCATED || i.bytes != 99)
			return false;
	}
	return true;
}

static void test_cases(void)
{
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		bool is_right = true, cuts = true;
		uint8_t code[32];
		size_t n = bytes_of(cases[k].hex, code);

		for (unsigned int m = 0; m < 3; m++) {
			if (!(cases[k].modes & 1u << m))
				continue;
			is_right = is_as_said(&cases[k], m, code, n) && is_right;
			cuts = is_cut(m, code, n) && cuts;
		}
		CHECK(is_right, "%s: %s", cases[k].text, cases[k].hex);
		CHECK(cuts, "%s, cut short", cases[k].text);
	}
}

static void test_undefined(void)
{
	for (size_t k = 0; k < sizeof(undefined) / sizeof(undefined[0]); k++) {
		bool is_right = true;
		uint8_t code[32];
		size_t n = bytes_of(undefined[k].hex, code);

		for (unsigned int m = 0; m < 3; m++) {
			struct insn i = {.bytes = 99};

			if (undefined[k].modes & 1u << m)
				is_right = is_right &&
					   x86_decode(modes[m].isa, code, n, 0, &i) ==
						   CLEW_BAD_PACKET &&
					   i.bytes == 99;
		}
		CHECK(is_right, "undefined: %s", undefined[k].text);
	}
}

static void test_find(void)
{
	/* push rbp; mov rbp, rsp; nop; je; push es */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x74, 0x00, 0x06};
	struct insn i;
	uint32_t nr;

	CHECK(x86_find_branch(ISA_X86_64, code, sizeof(code), 0x1000, &nr, &i) == 5 && nr == 3,
	      "the first branch is at 5, the fourth");
	CHECK(i.kind == INSN_COND && i.bytes == 2 && i.target == 0x1007, "and decoded");
	CHECK(x86_find_branch(ISA_X86_64, code + 5, 3, 0x1000, &nr, &i) == 0 && nr == 0,
	      "a branch right at the start");
	CHECK(x86_find_branch(ISA_X86_64, code, 3, 0x1000, &nr, &i) == 1 && nr == 1,
	      "an instruction cut by the end is not stepped over");
	CHECK(!i.bytes, "and not decoded");
	CHECK(x86_find_branch(ISA_X86_64, code, 5, 0x1000, &nr, &i) == 5 && nr == 3,
	      "no branch: the end");
	CHECK(x86_find_branch(ISA_X86_64, code + 7, 1, 0x1000, &nr, &i) == 0 && nr == 0,
	      "an undefined one is not stepped over");
	CHECK(x86_find_branch(ISA_X86_64, code, 0, 0x1000, &nr, &i) == 0 && nr == 0, "no bytes");
}

int main(void)
{
	if (!x86_can_decode())
		SKIP_ALL("built without Zydis");
	test_cases();
	test_undefined();
	test_find();
	return tap_done();
}
