// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Usage: isa_x86 bytes 64|32|16: write bytes: every opcode of the legacy, VEX and EVEX maps after
 * prefixes, operands by chance, and chance alone. isa_x86 compare 64|32|16 WHAT [mixed] < TEXT:
 * what LLVM prints of code (mixed: with data between) against what we say of it, and what we say
 * against the categories of Zydis. One TAP line. What LLVM does not know is counted; what it knows
 * and we do not differs.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "diff/llvm_names.h"
#include "isa/x86/x86_branch.h"
#include "make/splitmix.h"

static uint64_t seed = 1;

static uint8_t chance(void)
{
	return (uint8_t)(splitmix64(&seed) >> 7);
}

/* --- bytes --- */

static void put(const uint8_t *bytes, size_t n)
{
	fwrite(bytes, 1, n, stdout);
}

/** ModRM of @p i: each mod, each reg; then bytes by chance. */
static void put_tail(unsigned int i)
{
	uint8_t tail[10];

	for (unsigned int k = 0; k < sizeof(tail); k++)
		tail[k] = chance();
	tail[0] = (uint8_t)(i << 3 | (chance() & 7)); /* i < 32: mod and reg */
	put(tail, 4 + chance() % 6);
}

static void write_legacy(bool is_64)
{
	static const char *const prefixes[] = {"",     "\x66", "\x67", "\xf2",
					       "\xf3", "\x3e", "\xf0", "\x66\xf3"};
	static const char *const maps[] = {"", "\x0f", "\x0f\x38", "\x0f\x3a"};

	for (unsigned int k = 0; k < 4 * 256 * 8 * 32; k++) {
		uint8_t opcode = (uint8_t)(k >> 8), rex = 0x40 | (chance() & 15);

		fputs(prefixes[k >> 5 & 7], stdout);
		if (is_64 && chance() & 1)
			put(&rex, 1);
		fputs(maps[k >> 16], stdout);
		put(&opcode, 1);
		put_tail(k & 31);
	}
}

static void write_vector(bool is_64)
{
	for (unsigned int k = 0; k < 7 * 256 * 4 * 32; k++) {
		uint8_t map = (uint8_t)(1 + (k >> 15)), pp = k >> 5 & 3, opcode = (uint8_t)(k >> 7);
		uint8_t top = is_64 ? chance() & 0xf8 : 0xf0; /* else LES, BOUND */
		const uint8_t vex3[] = {0xc4, (top & 0xe0) | map, (uint8_t)((chance() & 0xfc) | pp),
					opcode};
		const uint8_t evex[] = {0x62, top | map,
					(uint8_t)((chance() & 0xf8) | (is_64 ? chance() & 4 : 4) |
						  pp),
					chance(), opcode};

		if (map <= 3 || map == 7) {
			put(vex3, sizeof(vex3));
			put_tail(k & 31);
		}
		put(evex, sizeof(evex));
		put_tail(k & 31);
	}
}

static void write_rex2(void)
{
	for (unsigned int k = 0; k < 512 * 64; k++) {
		const uint8_t rex2[] = {0xd5, (uint8_t)((chance() & 0x7f) | (k >> 7 & 0x80)),
					(uint8_t)(k >> 6)};

		put(rex2, sizeof(rex2));
		put_tail(k & 31);
	}
}

static void write_bytes(bool is_64)
{
	write_legacy(is_64);
	write_vector(is_64);
	if (is_64)
		write_rex2();
	for (unsigned int i = 0; i < 1 << 20; i++) {
		uint8_t b = chance();

		put(&b, 1);
	}
}

/* --- LLVM's words --- */

struct line {
	uint64_t at;
	uint8_t bytes[32];
	size_t nr;
	char name[32], operands[96];
};

/** "      19: f2 ff 25 01 02 03 04   \trepne\t\tjmpq\t*0x4030201(%rip) # 0x..." */
static bool parse(char *text, struct line *ret)
{
	static const char *const prefixes =
		"lock rep repe repne data16 data32 addr16 addr32 notrack cs ds es fs gs ss rex64 xacquire xrelease "
		"bnd {evex} {vex} {vex3} {nf} {rex2}";
	char *p = text, *word = NULL, *rest;

	ret->at = strtoull(text, &p, 16);
	if (*p++ != ':')
		return false;
	for (ret->nr = 0; ret->nr < sizeof(ret->bytes); ret->nr++) {
		char *end;
		unsigned long b;

		p += strspn(p, " ");
		if (*p == '\t')
			break;
		b = strtoul(p, &end, 16);
		if (end != p + 2)
			return false;
		ret->bytes[ret->nr] = (uint8_t)b;
		p = end;
	}
	ret->name[0] = ret->operands[0] = 0;
	for (word = strtok_r(p, "\t\n ", &rest); word && is_one_of(word, prefixes);
	     word = strtok_r(NULL, "\t\n ", &rest))
		;
	if (word)
		snprintf(ret->name, sizeof(ret->name), "%s", word);
	word = strtok_r(NULL, "\t\n", &rest);
	if (word)
		snprintf(ret->operands, sizeof(ret->operands), "%s", word);
	return ret->nr;
}

/** @p name is @p base, with or without the suffix of a size. */
static bool is_sized(const char *name, const char *base)
{
	size_t n = strlen(base);

	return !strncmp(name, base, n) && (!name[n] || (strchr("bwlq", name[n]) && !name[n + 1]));
}

static struct insn want_far(uint8_t detail)
{
	return (struct insn){.kind = INSN_FAR, .detail = detail};
}

static struct insn want_special(uint8_t detail)
{
	return (struct insn){.kind = INSN_SPECIAL, .detail = detail};
}

static struct insn want_near(uint8_t flags, const char *operands)
{
	if (*operands == '*')
		return (struct insn){.kind = INSN_INDIRECT, .flags = flags};
	return (struct insn){.kind = INSN_BRANCH,
			     .flags = flags,
			     .target = (uint64_t)strtoull(operands, NULL, 16)};
}

static struct insn want_of(const struct line *l)
{
	const char *n = l->name, *o = l->operands;
	struct insn ret = {.kind = INSN_PLAIN};

	if (!strcmp(n, "jmpabs")) /* its target is in the trace */
		return (struct insn){.kind = INSN_INDIRECT};
	if (is_sized(n, "jmp"))
		return want_near(0, *o == '$' ? o + 1 : o);
	if (is_sized(n, "call"))
		return want_near(INSN_LINK, o);
	if (*n == 'j' || !strncmp(n, "loop", 4)) {
		ret = want_near(0, o);
		ret.kind = INSN_COND;
	} else if (is_sized(n, "ret")) {
		ret = (struct insn){.kind = INSN_INDIRECT, .flags = INSN_RET};
	} else if (is_sized(n, "ljmp")) {
		ret = want_far(X86_FAR_JUMP);
	} else if (is_sized(n, "lcall")) {
		ret = want_far(X86_FAR_CALL);
	} else if (is_sized(n, "lret")) {
		ret = want_far(X86_FAR_RETURN);
	} else if (is_sized(n, "iret") || is_one_of(n, "rsm uiret erets eretu")) {
		ret = want_far(X86_IRET);
	} else if (is_sized(n, "sysret") || is_sized(n, "sysexit")) {
		ret = want_far(X86_SYSRET);
	} else if (is_one_of(n, "syscall sysenter")) {
		ret = want_far(X86_SYSCALL);
	} else if (is_one_of(n, "vmlaunch vmresume vmrun")) {
		ret = want_far(X86_VM_ENTRY);
	} else if (is_one_of(n, "int int1 int3 into")) {
		ret = want_special(X86_INT);
	} else if (is_one_of(n, "vmcall vmmcall")) {
		ret = want_special(X86_VM_CALL);
	} else if (!strcmp(n, "vmptrld")) {
		ret = want_special(X86_VMPTRLD);
	} else if (is_sized(n, "ptwrite")) {
		ret = want_special(X86_PTWRITE);
	} else if (is_sized(n, "mov") && strstr(o, ", %cr3")) {
		ret = want_special(X86_MOV_CR3);
	} else if (!strcmp(n, "xbegin")) {
		ret.kind = INSN_TSTART;
	}
	return ret;
}

/* --- Zydis's categories --- */

/** Is @p i what the categories and branch types of Zydis, with all its checks, say? */
static bool is_as_category(const ZydisDecodedInstruction *z, const struct insn *i)
{
	bool is_far = z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	if (z->length != i->bytes)
		return false;
	if (z->mnemonic == ZYDIS_MNEMONIC_JKZD || z->mnemonic == ZYDIS_MNEMONIC_JKNZD)
		return i->kind == INSN_PLAIN; /* Knights Corner's alone */
	if (z->meta.category == ZYDIS_CATEGORY_COND_BR)
		return i->kind == (z->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? INSN_TSTART
				   : z->mnemonic == ZYDIS_MNEMONIC_XEND ? INSN_PLAIN
									: INSN_COND);
	if (z->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		return z->mnemonic == ZYDIS_MNEMONIC_XABORT ? i->kind == INSN_PLAIN
		     : is_far                               ? i->detail == X86_FAR_JUMP
			      : (i->kind == INSN_BRANCH || i->kind == INSN_INDIRECT) && !i->flags;
	if (z->meta.category == ZYDIS_CATEGORY_CALL)
		return is_far ? i->detail == X86_FAR_CALL
			      : (i->kind == INSN_BRANCH || i->kind == INSN_INDIRECT) &&
					i->flags == INSN_LINK;
	if (z->meta.category == ZYDIS_CATEGORY_RET)
		return is_far              ? i->detail == X86_FAR_RETURN || i->detail == X86_IRET
		     : i->kind == INSN_FAR ? i->detail == X86_IRET
					   : i->flags == INSN_RET;
	if (z->meta.category == ZYDIS_CATEGORY_INTERRUPT) /* BOUND is a fault */
		return i->detail == (z->mnemonic == ZYDIS_MNEMONIC_BOUND ? X86_NONE : X86_INT);
	if (z->meta.category == ZYDIS_CATEGORY_SYSCALL)
		return i->detail == X86_SYSCALL;
	if (z->meta.category == ZYDIS_CATEGORY_SYSRET)
		return i->detail == X86_SYSRET || i->detail == X86_IRET;
	return i->kind == INSN_PLAIN || i->detail >= X86_VM_ENTRY || i->detail == X86_IRET;
}

/* --- all --- */

enum { NR_AHEAD = 16 };

static struct compare {
	enum isa isa;
	bool is_mixed;
	ZydisDecoder zydis;
	struct line lines[NR_AHEAD]; /* until enough bytes after them are known */
	size_t nr;
	uint64_t nr_insns, nr_unknown, nr_lax, nr_wrong, nr_not_category;
	uint64_t nr_kinds[INSN_SPECIAL + 1], nr_details[X86_PTWRITE + 1];
} c;

/** The bytes from the first line on, over lines that follow each other. */
static size_t bytes_ahead(uint8_t ret[static NR_AHEAD * 32])
{
	size_t n = 0;

	for (size_t i = 0; i < c.nr && c.lines[i].at == c.lines[0].at + n; i++) {
		memcpy(ret + n, c.lines[i].bytes, c.lines[i].nr);
		n += c.lines[i].nr;
	}
	return n;
}

static void print_line(const char *what, const struct line *l, enum clew_err err,
		       const struct insn *i)
{
	printf("# %s: %" PRIx64 ":", what, l->at);
	for (size_t k = 0; k < l->nr; k++)
		printf(" %02x", l->bytes[k]);
	printf(" %s %s: we say %d, %u bytes, %u %u %u to %" PRIx64 "\n", l->name, l->operands, err,
	       i->bytes, i->kind, i->flags, i->detail, i->target);
}

static bool is_same(const struct line *l, const struct insn *i)
{
	struct insn w = want_of(l);

	if (c.isa != ISA_X86_64 && i->target <= 0xffff)
		w.target &= 0xffff; /* LLVM does not cut targets to the operand's size */
	return i->bytes == l->nr && i->kind == w.kind && i->flags == w.flags &&
	       i->detail == w.detail && i->target == w.target;
}

static bool is_legacy_prefix(uint8_t b)
{
	return memchr("\x66\x67\xf2\xf3\xf0\x26\x2e\x36\x3e\x64\x65", b, 11);
}

struct prefixes {
	bool has_lock, has_rep, has_size, has_stray_rex;
	bool has_rex2;
};

static struct prefixes prefixes_of(const struct line *l)
{
	struct prefixes ret = {0};

	for (size_t i = 0; i < l->nr; i++) {
		uint8_t b = l->bytes[i];
		bool is_rex = c.isa == ISA_X86_64 && (b & 0xf0) == 0x40;
		uint8_t next = i + 1 < l->nr ? l->bytes[i + 1] : 0;

		ret.has_rex2 = c.isa == ISA_X86_64 && b == 0xd5;
		if (!is_rex && !is_legacy_prefix(b))
			break;
		ret.has_lock |= b == 0xf0;
		ret.has_rep |= b == 0xf2 || b == 0xf3;
		ret.has_size |= b == 0x66 || b == 0x67;
		ret.has_stray_rex |= is_rex && (is_legacy_prefix(next) || (next & 0xf0) == 0x40);
	}
	return ret;
}

/**
 * Where LLVM is no judge. It decodes what faults: LOCK where none is allowed; in bytes that
 * are no code other prefixes, registers and REX2's rows as well. It minds a REX that another prefix
 * cancels, drops 66 and 67 beside F2 and F3, sees R21 and R29 as bases where there is none, takes
 * AMD's 16-bit displacements with 66 in 64-bit mode and a 32-bit one of XBEGIN in 16-bit mode,
 * where 66 VMPTRLD is not VMCLEAR.
 */
static bool is_llvm_lax(const struct line *l, enum clew_err err)
{
	struct prefixes p = prefixes_of(l);
	struct insn w = want_of(l);

	if (err == CLEW_BAD_PACKET)
		return p.has_lock || (c.is_mixed && (w.kind == INSN_PLAIN || p.has_size ||
						     p.has_rep || p.has_rex2));
	if (!c.is_mixed)
		return false;
	if (c.isa == ISA_X86_16 && (w.kind == INSN_TSTART || w.detail == X86_VMPTRLD))
		return true;
	if (strstr(l->operands, "(%r21") || strstr(l->operands, "(%r29"))
		return w.kind == INSN_PLAIN;
	return p.has_stray_rex || (p.has_size && p.has_rep) ||
	       (p.has_size && c.isa == ISA_X86_64 &&
		(w.kind == INSN_BRANCH || w.kind == INSN_COND));
}

static void compare_first(void)
{
	const struct line *l = &c.lines[0];
	uint8_t bytes[NR_AHEAD * 32];
	size_t n = bytes_ahead(bytes);
	ZydisDecodedInstruction z;
	struct insn i = {0};
	enum clew_err err = x86_decode(c.isa, bytes, n, l->at, &i);

	c.nr_insns++;
	c.nr_kinds[i.kind]++;
	c.nr_details[i.detail]++;
	if (!strcmp(l->name, "<unknown>"))
		c.nr_unknown++;
	else if ((err || !is_same(l, &i)) && is_llvm_lax(l, err))
		c.nr_lax++;
	else if ((err || !is_same(l, &i)) && c.nr_wrong++ < 40)
		print_line("LLVM", l, err, &i);
	if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&c.zydis, NULL, bytes, n, &z)) &&
	    !is_as_category(&z, &i) && c.nr_not_category++ < 20)
		print_line(ZydisCategoryGetString(z.meta.category), l, err, &i);
	memmove(c.lines, c.lines + 1, --c.nr * sizeof(c.lines[0]));
}

/** LLVM prints LOCK, and prefixes that it has no use for, on a separate line. */
static bool join(struct line *l, const struct line *next)
{
	if (l->name[0] || next->at != l->at + l->nr || l->nr + next->nr > X86_MAX_BYTES)
		return false;
	memcpy(l->bytes + l->nr, next->bytes, next->nr);
	l->nr += next->nr;
	memcpy(l->name, next->name, sizeof(l->name));
	memcpy(l->operands, next->operands, sizeof(l->operands));
	return true;
}

static int compare(const char *what)
{
	char buf[512];
	uint64_t nr_branches;

	while (fgets(buf, sizeof(buf), stdin)) {
		if (!parse(buf, &c.lines[c.nr]))
			continue;
		if (c.nr && join(&c.lines[c.nr - 1], &c.lines[c.nr]))
			continue;
		if (++c.nr == NR_AHEAD)
			compare_first();
	}
	while (c.nr)
		compare_first();
	nr_branches = c.nr_insns - c.nr_kinds[INSN_PLAIN];
	printf("%s 1 - %s: %" PRIu64 " instructions, %" PRIu64 " of them branches: %" PRIu64
	       " differ from LLVM's (%" PRIu64 " that it does not know, %" PRIu64
	       " that it decodes otherwise than processors), %" PRIu64 " from Zydis's categories\n",
	       c.nr_wrong || c.nr_not_category || !nr_branches ? "not ok" : "ok", what, c.nr_insns,
	       nr_branches, c.nr_wrong, c.nr_unknown, c.nr_lax, c.nr_not_category);
	for (unsigned int k = 0; k <= INSN_SPECIAL; k++)
		printf("# kind %u: %" PRIu64 "\n", k, c.nr_kinds[k]);
	for (unsigned int k = 1; k <= X86_PTWRITE; k++)
		printf("# detail %u: %" PRIu64 "\n", k, c.nr_details[k]);
	return c.nr_wrong || c.nr_not_category || !nr_branches;
}

int main(int argc, char **argv)
{
	if (argc < 3 || (argc < 4 && !strcmp(argv[1], "compare")))
		return 2;
	c.isa = !strcmp(argv[2], "64") ? ISA_X86_64
	      : !strcmp(argv[2], "32") ? ISA_X86_32
				       : ISA_X86_16;
	if (!strcmp(argv[1], "bytes")) {
		write_bytes(c.isa == ISA_X86_64);
		return 0;
	}
	if (c.isa == ISA_X86_64)
		ZydisDecoderInit(&c.zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else if (c.isa == ISA_X86_32)
		ZydisDecoderInit(&c.zydis, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(&c.zydis, ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
	c.is_mixed = argc > 4;
	return compare(argv[3]);
}
