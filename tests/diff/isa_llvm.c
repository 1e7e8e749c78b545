// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Usage: isa_llvm words a64|a32|t32|m FILE: write instructions: every opcode of the branch space,
 * operands by chance, and chance alone. T32 and M: one in each four bytes, a NOP after those of
 * two. isa_llvm compare a64|a32|t32|m FILE < TEXT: what LLVM prints of FILE against what we say of
 * it. One TAP line. Words that LLVM does not know are compared where ours is something: these are
 * listed by form, and counted.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "diff/llvm_names.h"
#include "isa/a32/a32_branch.h"
#include "isa/a64/a64_branch.h"
#include "make/splitmix.h"

enum mode { A64, A32, T32, M };

static uint64_t seed = 1;

static uint32_t chance(void)
{
	return (uint32_t)(splitmix64(&seed) >> 7);
}

/* --- words --- */

static void put(FILE *f, uint32_t low, uint32_t high)
{
	const uint8_t b[] = {(uint8_t)low, (uint8_t)(low >> 8), (uint8_t)high,
			     (uint8_t)(high >> 8)};

	fwrite(b, 1, 4, f);
}

static void put_word(FILE *f, uint32_t w)
{
	put(f, w & 0xffff, w >> 16);
}

/** @p n values that fields of @p bits bits have in special cases, then chance. */
static uint32_t operand(unsigned int i, unsigned int bits)
{
	uint32_t ones = (1u << bits) - 1;

	return i == 0 ? ones : i == 1 ? 0 : chance() & ones;
}

static void write_a64(FILE *f)
{
	for (uint32_t top = 0; top < 1 << 11; top++) {
		for (uint32_t mid = 0; mid < 1 << 6; mid++) {
			for (unsigned int i = 0; i < 4; i++)
				put_word(f, top << 21 | operand(i, 5) << 16 | mid << 10 |
						    (chance() & 31) << 5 |
						    operand(chance() % 3, 5));
		}
	}
	for (uint32_t low = 0; low < 1 << 16; low++)
		put_word(f, 0xd5030000 | low); /* hints, barriers, WFxT */
	for (uint32_t low = 0; low < 1 << 18;
	     low++) { /* BR to ERET: what they need, or one bit off */
		uint32_t off = low & 0x10000 ? 1u << (chance() & 31) : 0;
		uint32_t rn = low & 0x400 ? 31 : chance() & 31;

		put_word(f, (0xd61f0000 | (low >> 6 & 15) << 21 | (low & 0x3f) << 10 | rn << 5 |
			     operand(low >> 11 & 3, 5)) ^
				    off);
	}
	for (unsigned int i = 0; i < 100000; i++)
		put_word(f, chance());
	for (unsigned int i = 0; i < 100000; i++)
		put_word(f, (chance() & ~0x1c000000u) | 0x14000000);
}

static void write_a32(FILE *f)
{
	static const uint32_t conditions[] = {14, 15, 1};

	for (unsigned int c = 0; c < 3; c++) {
		for (uint32_t op = 0; op < 256 * 16 * 8; op++) {
			uint32_t rd = op & 1 ? 15 : chance() & 15, rn = operand(op >> 1 & 3, 4);
			uint32_t low = op & 4 ? 14 : chance() & 15, rs = op & 2 ? 0 : chance() & 15;

			put_word(f, conditions[c] << 28 | op >> 7 << 20 | rn << 16 | rd << 12 |
					    rs << 8 | (op >> 3 & 15) << 4 | low);
			rn = chance() & 1 ? 13 : 15;
			put_word(f, conditions[c] << 28 | op >> 7 << 20 | rn << 16 | 15 << 12 |
					    rs << 8 | (op >> 3 & 15) << 4 | low);
		}
	}
	for (unsigned int i = 0; i < 200000; i++)
		put_word(f, chance());
}

static void write_t32(FILE *f)
{
	for (uint32_t first = 0; first < 0xe800; first++) {
		/* IT changes the names of what follows */
		put(f, (first & 0xff00) == 0xbf00 ? first & 0xfff0 : first, 0xbf00);
	}
	for (uint32_t first = 0xe800; first < 0x10000; first++) {
		for (unsigned int i = 0; i < 48; i++) {
			uint32_t second = chance() & 0xffff;

			if (i & 1)
				second |= 0xf000;
			if (i % 16 < 4)
				second &= 0xf03f;
			put(f, first, i < 16 ? (second & 0xfff) | i << 12 : second);
		}
	}
	for (uint32_t i = 0; i < 1 << 16; i++) {
		static const uint32_t firsts[] = {0xf3af, 0xf3bf, 0xf3c0, 0xf3de, 0xf000, 0xf040,
						  0xf00f, 0xf02f, 0xf01f, 0xe8d0, 0xe8bd, 0xf85d};

		put(f, firsts[i % 12], 0x8000 | chance());
		put(f, 0xf3de, 0x8f00 | (i & 0xff));
		put(f, (i & 8 ? 0xe810 : 0xe990) | (i & 0x2f), 0xc000);
		put(f, 0xe8d0 | (i & 15), 0xf000 | (i >> 4 & 0x1f));
	}
}

/* --- LLVM's words --- */

struct line {
	uint64_t at;
	char name[32], operands[160];
};

/** "     10: d65f03c0     \tret\n": the address, and what is after the first and second tab. */
static bool parse(char *text, struct line *ret)
{
	char *name = strchr(text, '\t'), *operands;

	if (!name || sscanf(text, "%" SCNx64 ":", &ret->at) != 1)
		return false;
	name++;
	name[strcspn(name, "\n")] = 0;
	operands = strchr(name, '\t');
	if (operands)
		*operands++ = 0;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->operands, sizeof(ret->operands), "%s", operands ? operands : "");
	return true;
}

/** What an instruction is by its name and operands. */
struct want {
	bool is_known, has_target;
	struct insn insn;
};

static uint64_t last_number(const char *operands)
{
	const char *at = NULL;

	for (const char *p = strstr(operands, "0x"); p; p = strstr(p + 1, "0x")) {
		if (strchr(operands, '<') && p > strchr(operands, '<'))
			break;
		at = p;
	}
	return at ? strtoull(at, NULL, 16) : 0;
}

static struct insn direct(uint8_t kind, uint8_t flags, const struct line *l)
{
	return (struct insn){last_number(l->operands), kind, flags, 4};
}

static void want_a64(const struct line *l, struct want *w)
{
	const char *n = l->name;

	w->has_target = true;
	if (!strcmp(n, "b"))
		w->insn = direct(INSN_BRANCH, 0, l);
	else if (!strcmp(n, "bl"))
		w->insn = direct(INSN_BRANCH, INSN_LINK, l);
	else if (!strncmp(n, "b.", 2) || !strncmp(n, "bc.", 3) || is_one_of(n, "cbz cbnz tbz tbnz"))
		w->insn = direct(INSN_COND, 0, l);
	else
		w->has_target = false;
	if (is_one_of(n, "br braa braaz brab brabz"))
		w->insn.kind = INSN_INDIRECT;
	else if (is_one_of(n, "blr blraa blraaz blrab blrabz"))
		w->insn = (struct insn){0, INSN_INDIRECT, INSN_LINK, 4};
	else if (is_one_of(n, "ret retaa retab retaasppc retabsppc retaasppcr retabsppcr"))
		w->insn = (struct insn){0, INSN_INDIRECT, INSN_RET, 4};
	else if (is_one_of(n, "eret eretaa eretab"))
		w->insn = (struct insn){0, INSN_INDIRECT, INSN_ERET, 4};
	else if (is_one_of(n, "isb"))
		w->insn.kind = INSN_ISB;
	else if (is_one_of(n, "wfi wfe wfit wfet"))
		w->insn.kind = INSN_WFX;
	else if (is_one_of(n, "tstart"))
		w->insn.kind = INSN_TSTART;
}

static bool has_reg(const char *list, const char *reg)
{
	const char *p = strchr(list, '{');

	return p && strstr(p, reg);
}

static bool is_first(const char *operands, const char *reg)
{
	size_t n = strlen(reg);

	return !strncmp(operands, reg, n) && (!operands[n] || operands[n] == ',');
}

/** LDM, LDR, data processing; in T32 (@p is_t32) only what the Arm ARM does not call UNPREDICTABLE.
 */
static void want_pc_write(const char *n, const struct line *l, bool is_t32, struct want *w)
{
	const char *o = l->operands;
	const char *data =
		"and eor sub rsb add adc sbc rsc orr mov lsl lsr asr ror rrx bic mvn adr";
	char base[32];
	bool is_exception = n[strlen(n) - 1] == 's';

	snprintf(base, sizeof(base), "%.*s", (int)(strlen(n) - is_exception), n);
	if (!strcmp(n, "pop") && has_reg(o, "pc"))
		w->insn = (struct insn){0, INSN_INDIRECT,
					!is_t32 && has_reg(o, "sp") ? 0 : INSN_RET, 4};
	else if (!strncmp(n, "ldm", 3) && has_reg(o, "pc") &&
		 !(is_t32 && !n[3] && is_first(o, "pc")))
		w->insn = (struct insn){0, INSN_INDIRECT,
					strchr(o, '^')                   ? INSN_ERET
					: !strncmp(o, "sp!", 3) && !n[3] ? INSN_RET
									 : 0,
					4};
	else if (!strcmp(n, "ldr") && is_first(o, "pc"))
		w->insn = (struct insn){0, INSN_INDIRECT,
					strstr(o, "[sp], #") && !strchr(o, '-') ? INSN_RET : 0, 4};
	else if ((is_t32 ? is_one_of(n, "mov add subs") && !strchr(l->name, '.')
			 : is_one_of(n, data) || (!is_t32 && is_one_of(base, data))) &&
		 is_first(o, "pc"))
		w->insn = (struct insn){0, INSN_INDIRECT,
					is_exception                                ? INSN_ERET
					: !strcmp(o, "pc, lr") && !strcmp(n, "mov") ? INSN_RET
										    : 0,
					4};
}

static void want_a32(const char *n, const struct line *l, bool is_t32, struct want *w)
{
	const char *o = l->operands;
	bool is_register = *o == 'r' || *o == 's' || *o == 'l' || *o == 'p';

	w->has_target = true;
	if (!strcmp(n, "b"))
		w->insn = direct(INSN_BRANCH, 0, l);
	else if (!strcmp(n, "bl"))
		w->insn = direct(INSN_BRANCH, INSN_LINK, l);
	else if (!strcmp(n, "blx") && !is_register)
		w->insn = direct(INSN_BRANCH, INSN_LINK | INSN_SWITCH, l);
	else if (is_one_of(n, "cbz cbnz"))
		w->insn = direct(INSN_COND, 0, l);
	else if (is_one_of(n, "le letp") || !strncmp(n, "wls", 3))
		w->insn = direct(is_register || *n == 'w' ? INSN_COND : INSN_BRANCH, 0, l);
	else
		w->has_target = false;
	if (is_one_of(n, "blx blxns") && is_register)
		w->insn = (struct insn){0, INSN_INDIRECT, INSN_LINK, 4};
	else if (is_one_of(n, "bx bxns"))
		w->insn = (struct insn){0, INSN_INDIRECT, !strcmp(o, "lr") ? INSN_RET : 0, 4};
	else if (is_one_of(n, "bxj tbb tbh"))
		w->insn.kind = INSN_INDIRECT;
	else if (is_one_of(n, "rfeia rfeib rfeda rfedb eret"))
		w->insn = (struct insn){0, INSN_INDIRECT, INSN_ERET, 4};
	else if (!strcmp(n, "isb") || (!strcmp(n, "mcr") && !strncmp(o, "p15, #0x0, ", 11) &&
				       strstr(o, ", c7, c5, #0x4")))
		w->insn.kind = INSN_ISB;
	else if (is_one_of(n, "wfi wfe"))
		w->insn.kind = INSN_WFX;
	else
		want_pc_write(n, l, is_t32, w);
}

static const char *const conditions[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs",
					 "vc", "hi", "ls", "ge", "lt", "gt", "le"};

/** "ldrne.w" -> "ldr"; @p cond: of the instruction, or 14. */
static void base_name(const char *name, uint32_t cond, char ret[static 32])
{
	size_t n;

	snprintf(ret, 32, "%s", name);
	n = strlen(ret);
	if (n > 2 && ret[n - 2] == '.' && (ret[n - 1] == 'w' || ret[n - 1] == 'n'))
		ret[n -= 2] = 0;
	if (cond < 14 && n > 2 && !strcmp(ret + n - 2, conditions[cond]))
		ret[n - 2] = 0;
}

static struct want want_of(enum mode mode, const struct line *l, uint32_t word)
{
	struct want w = {.is_known = strcmp(l->name, "<unknown>") != 0, .insn = {.bytes = 4}};
	char name[32];

	if (!strncmp(l->name, "vctp", 4) && (word & 0x7ff) != 1)
		w.is_known =
			false; /* LLVM does not mind its low bits, which make it BLX elsewhere */
	if (!w.is_known)
		return w;
	if (mode == A64) {
		want_a64(l, &w);
	} else if (mode == A32) {
		base_name(l->name, word >> 28, name);
		want_a32(name, l, false, &w);
		if (word >> 28 < 14 && w.insn.kind != INSN_PLAIN) {
			w.insn.flags |= INSN_MAY_FAIL;
			if (w.insn.kind == INSN_BRANCH)
				w.insn.kind = INSN_COND;
		}
	} else {
		uint32_t cond = 14;

		if (word >> 28 == 0xd)
			cond = word >> 24 & 15;
		else if ((word & 0xf800d000) == 0xf0008000)
			cond = word >> 22 & 15;
		base_name(l->name, cond, name);
		want_a32(name, l, true, &w);
		if (w.insn.kind == INSN_BRANCH && cond < 14)
			w.insn.kind = INSN_COND;
		w.insn.bytes = word >> 27 >= 0x1d ? 4 : 2;
	}
	return w;
}

/* --- both --- */

static struct insn decode(enum mode mode, uint32_t word, uint64_t at)
{
	switch (mode) {
	case A64:
		return a64_decode(word, at);
	case A32:
		return a32_decode(word, at);
	case T32:
	case M:
		break;
	}
	return t32_decode(word, at);
}

static bool is_same(const struct insn *got, const struct want *w)
{
	return got->kind == w->insn.kind && got->flags == w->insn.flags &&
	       got->bytes == w->insn.bytes && (!w->has_target || got->target == w->insn.target);
}

/** Has @p name come up less than four times? */
static bool is_new(const char *name)
{
	static char names[200][32];
	static unsigned int nr, times[200];

	for (unsigned int i = 0; i < nr; i++) {
		if (!strcmp(names[i], name))
			return ++times[i] < 4;
	}
	if (nr == 200)
		return false;
	snprintf(names[nr++], 32, "%s", name);
	return true;
}

static int compare(enum mode mode, const uint8_t *data, size_t size, FILE *text)
{
	uint64_t nr = 0, nr_waypoints = 0, nr_wrong = 0, nr_unknown = 0;
	char buf[512];
	struct line l;

	while (fgets(buf, sizeof(buf), text)) {
		const uint8_t *p = data;
		uint32_t word;
		struct want w;
		struct insn got;

		if (!parse(buf, &l) || l.at % 4 || l.at + 4 > size)
			continue; /* T32: the NOP */
		p += l.at;
		word = load_le32(p);
		if (mode >= T32)
			word = word << 16 | word >> 16;
		w = want_of(mode, &l, word);
		got = decode(mode, word, l.at);
		nr++;
		nr_waypoints += got.kind != INSN_PLAIN;
		if (!w.is_known) {
			nr_unknown += got.kind != INSN_PLAIN;
			if (got.kind != INSN_PLAIN && getenv("ISA_LLVM_UNKNOWN"))
				printf("# unknown %08x: %u %x\n", word, got.kind, got.flags);
			continue;
		}
		if (is_same(&got, &w))
			continue;
		if (nr_wrong++ < 2000 && is_new(l.name))
			printf("# %08x at %" PRIx64 ": %s %s: want %u %x %u %" PRIx64
			       ", got %u %x %u %" PRIx64 "\n",
			       word, l.at, l.name, l.operands, w.insn.kind, w.insn.flags,
			       w.insn.bytes, w.insn.target, got.kind, got.flags, got.bytes,
			       got.target);
	}
	printf("%s 1 - %" PRIu64 " instructions, %" PRIu64 " waypoints as LLVM's (%" PRIu64
	       " that it does not know), %" PRIu64 " differ\n1..1\n",
	       nr_wrong || nr * 4 < size ? "not ok" : "ok", nr, nr_waypoints, nr_unknown, nr_wrong);
	return nr_wrong || nr * 4 < size;
}

static int compare_file(enum mode mode, FILE *f)
{
	size_t most = 64 << 20, size;
	uint8_t *data = malloc(most);
	int ret;

	if (!data)
		return 1;
	size = fread(data, 1, most, f);
	ret = compare(mode, data, size, stdin);
	free(data);
	return ret;
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {[A64] = "a64", [A32] = "a32", [T32] = "t32", [M] = "m"};
	enum mode mode = A64;
	bool writes = argc == 4 && !strcmp(argv[1], "words");
	FILE *f = argc == 4 ? fopen(argv[3], writes ? "wb" : "rb") : NULL;
	int ret = 0;

	if (!f)
		return 2;
	while (mode < M && strcmp(modes[mode], argv[2]) != 0)
		mode++;
	if (!writes)
		ret = compare_file(mode, f);
	else if (mode == A64)
		write_a64(f);
	else if (mode == A32)
		write_a32(f);
	else
		write_t32(f);
	return fclose(f) || ret;
}
