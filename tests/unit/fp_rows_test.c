/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/fp_rows.h"

#include <elf.h>

#include "base/mem.h"
#include "unit/tap.h"
#include "unwind/unw_list.h"

enum { VADDR = 0x1000, OFFSET = 0x400, CODE_BYTES = 0x400, MAX_SYMS = 8 };

/** Code at VADDR with functions that no source covers, but for those that the test covers. */
struct input {
	struct unw_image image;
	uint8_t code[CODE_BYTES];
	Elf64_Sym syms[MAX_SYMS];
	struct unw_list *covered;
	struct unw_table table;
	void *block;
};

static struct input *input_new(enum unw_arch arch)
{
	struct input *in = mem_zalloc(sizeof(*in));

	in->image = (struct unw_image){.arch = arch, .nr_segments = 1};
	in->image.segments[0] = (struct unw_segment){VADDR, CODE_BYTES, OFFSET, in->code};
	in->image.symbols.bytes = (const uint8_t *)in->syms;
	in->covered = unw_list_new();
	return in;
}

static void input_free(struct input *in)
{
	unw_list_free(in->covered);
	mem_free(in->block);
	mem_free(in);
}

static void add_sym(struct input *in, uint64_t at, uint64_t size)
{
	Elf64_Sym *s = &in->syms[in->image.symbols.size / sizeof(*s)];

	*s = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			 .st_shndx = 1,
			 .st_value = VADDR + at,
			 .st_size = size};
	in->image.symbols.size += sizeof(*s);
}

static enum clew_err compile(struct input *in)
{
	struct unw_list *l = unw_list_new(), *lists[] = {in->covered, l};
	enum clew_err err = fp_rows(&in->image, &in->covered, 1, l);
	size_t size;

	mem_free(in->block);
	in->block = NULL;
	if (!err)
		err = unw_table_build_of(lists, 2, in->image.arch, &in->block, &size);
	if (!err && unw_table_of_block(&in->table, in->block, size))
		err = CLEW_BAD_FILE;
	unw_list_free(l);
	return err;
}

/** "CFA RA FP" of the rule at @p at, as in readelf -wF; "-": none. */
static const char *rule_at(const struct input *in, uint64_t at)
{
	static char text[96];
	const struct unw_rule *r = unw_table_find(&in->table, OFFSET + at);
	bool is_x86 = in->image.arch == UNW_X86_64;
	char ra[16] = "ra", fp[16] = "fp";

	if (r->cfa == UNW_CFA_NONE)
		return "-";
	if (r->ra == UNW_AT_CFA)
		snprintf(ra, sizeof(ra), "c%d", r->ra_off);
	if (r->fp == UNW_AT_CFA)
		snprintf(fp, sizeof(fp), "c%d", r->fp_off);
	snprintf(text, sizeof(text), "%s+%d %s %s%s", r->cfa_reg == (is_x86 ? 6 : 29) ? "fp" : "sp",
		 r->cfa_off, ra, fp, r->origin == UNW_FP_PROLOGUE ? "" : " of another origin");
	return text;
}

static void test_x86(bool has_endbr)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t body[] = {
		0x55, 0x48, 0x89, 0xe5,       /* push; mov */
		0x53,                         /* 4: push rbx */
		0xe9, 0x00, 0,    0,    0,    /* 5: jmp to 10 */
		0x5b,                         /* 10: pop rbx */
		0x5d, 0xc3,                   /* 11: pop rbp; ret */
		0x31, 0xc0,                   /* 13 */
		0xc9, 0xc2, 8,    0,          /* 15: leave; ret 8 */
		0x5d, 0xe9, 0,    1,    0, 0, /* 19: pop rbp; jmp out */
		0x5d, 0xe9, 0,    0,    0, 0, /* 25: pop rbp; jmp inside */
		0x5d, 0xff, 0xe0,             /* 31: pop rbp; jmp *rax */
		0x90,
	};
	static const struct {
		unsigned int at;
		const char *want;
	} t[] = {
		{0,  "sp+8 c-8 fp"   },
                {1,  "sp+16 c-8 c-16"},
                {4,  "fp+16 c-8 c-16"},
		{10, "fp+16 c-8 c-16"},
                {12, "sp+8 c-8 fp"   },
                {13, "fp+16 c-8 c-16"},
		{16, "sp+8 c-8 fp"   },
                {18, "sp+8 c-8 fp"   },
                {19, "fp+16 c-8 c-16"},
		{20, "sp+8 c-8 fp"   },
                {25, "fp+16 c-8 c-16"},
                {26, "fp+16 c-8 c-16"},
		{32, "sp+8 c-8 fp"   },
                {34, "fp+16 c-8 c-16"},
	};
	unsigned int from = has_endbr ? sizeof(endbr) : 0;
	struct input *in = input_new(UNW_X86_64);

	memcpy(in->code, endbr, sizeof(endbr));
	memcpy(in->code + from, body, sizeof(body));
	add_sym(in, 0, from + sizeof(body));
	CHECK_EQ(compile(in), CLEW_OK, "a function with a frame pointer%s",
		 has_endbr ? ", after a landing pad" : "");
	CHECK_STR(rule_at(in, 0), "sp+8 c-8 fp", "its first instruction");
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		CHECK_STR(rule_at(in, from + t[i].at), t[i].want, "at +%u", t[i].at);
	CHECK_STR(rule_at(in, from + sizeof(body)), "-", "nothing after it");
	input_free(in);
}

static void put_a64(struct input *in, uint64_t at, const uint32_t *insns, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		for (unsigned int b = 0; b < 4; b++)
			in->code[at + 4 * i + b] = (uint8_t)(insns[i] >> 8 * b);
	}
}

static void test_a64(void)
{
	static const struct {
		uint32_t insn;
		const char *before; /* the rule at this instruction */
	} push[] = {
		{0xd503233f, "sp+0 ra fp"     }, /* paciasp */
		{0xa9bd7bfd, "sp+0 ra fp"     }, /* stp x29, x30, [sp, #-48]! */
		{0x910003fd, "sp+48 c-40 c-48"}, /* mov x29, sp */
		{0xd503201f, "fp+48 c-40 c-48"}, /* nop */
		{0x94000010, "fp+48 c-40 c-48"}, /* bl */
		{0xa8c37bfd, "fp+48 c-40 c-48"}, /* ldp x29, x30, [sp], #48 */
		{0xd65f03c0, "sp+0 ra fp"     }, /* ret */
		{0xd503201f, "fp+48 c-40 c-48"},
	};
	static const struct {
		uint32_t insn;
		const char *before;
	} store[] = {
		{0xd10103ff, "sp+0 ra fp"    }, /* sub sp, sp, #64 */
		{0xa9037bfd, "sp+64 ra fp"   }, /* stp x29, x30, [sp, #48] */
		{0x9100c3fd, "sp+64 c-8 c-16"}, /* add x29, sp, #48 */
		{0xd503201f, "fp+16 c-8 c-16"},
		{0xa9437bfd, "fp+16 c-8 c-16"}, /* ldp x29, x30, [sp, #48] */
		{0x910103ff, "sp+64 ra fp"   }, /* add sp, sp, #64 */
		{0xd65f03c0, "sp+0 ra fp"    },
		{0xd503201f, "fp+16 c-8 c-16"},
	};
	struct input *in = input_new(UNW_AARCH64);

	for (unsigned int i = 0; i < 8; i++) {
		put_a64(in, 4 * i, &push[i].insn, 1);
		put_a64(in, 64 + 4 * i, &store[i].insn, 1);
	}
	add_sym(in, 64, 32);
	add_sym(in, 0, 32);
	CHECK_EQ(compile(in), CLEW_OK, "aarch64");
	for (unsigned int i = 0; i < 8; i++) {
		CHECK_STR(rule_at(in, 4 * i), push[i].before, "stp with writeback: +%u", 4 * i);
		CHECK_STR(rule_at(in, 64 + 4 * i), store[i].before, "sub, stp: +%u", 4 * i);
	}
	input_free(in);
}

/** Functions without a frame pointer have no rule, but a row of their own each. */
static void test_marks(enum unw_arch arch)
{
	struct input *in = input_new(arch);
	uint64_t starts[] = {0, 32, 64, 100, 512};

	add_sym(in, 0, 32);
	add_sym(in, 32, 32);
	add_sym(in, 64, 0); /* up to the next one */
	add_sym(in, 100, UINT64_MAX);
	add_sym(in, 512, 16);
	CHECK_EQ(compile(in), CLEW_OK, "functions without frames");
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ(unw_table_row_start(&in->table, OFFSET + starts[i] + 8),
			 OFFSET + starts[i], "a row starts at +%llu",
			 (unsigned long long)starts[i]);
		CHECK_STR(rule_at(in, starts[i] + 8), "-", "without a rule");
	}
	CHECK_EQ(unw_table_row_start(&in->table, OFFSET - 8), 0, "before the table");
	input_free(in);
}

static void test_covered(void)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
	const struct unw_rule none = {.cfa = UNW_CFA_NONE, .why = UNW_WHY_EXPRESSION};
	struct input *in = input_new(UNW_X86_64);

	memcpy(in->code, code, sizeof(code));
	add_sym(in, 0, 16);
	unw_list_begin(in->covered, OFFSET, OFFSET + 16);
	unw_list_row(in->covered, OFFSET, &none);
	CHECK_EQ(compile(in), CLEW_OK, "a function that another source covers");
	CHECK(unw_table_find(&in->table, OFFSET + 4)->why == UNW_WHY_EXPRESSION,
	      "is left to it, even where that has no rule");
	input_free(in);
}

static void test_hostile(void)
{
	struct input *in = input_new(UNW_X86_64);
	const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5};
	unsigned int nr_failed = 0;

	in->image.symbols.bytes = NULL;
	CHECK_EQ(compile(in), CLEW_NOT_FOUND, "no symbols");
	in->image.symbols.bytes = (const uint8_t *)in->syms;
	CHECK_EQ(compile(in), CLEW_NOT_FOUND, "an empty symbol table: no function");
	memcpy(in->code, code, sizeof(code));
	memcpy(in->code + CODE_BYTES - 3, code, 3);
	for (size_t i = 4; i + 2 < CODE_BYTES - 4; i += 2) {
		in->code[i] = 0x5d;
		in->code[i + 1] = 0xc3;
	}
	add_sym(in, 0, UINT64_MAX);
	add_sym(in, CODE_BYTES - 3, 1000);
	add_sym(in, CODE_BYTES, 10);
	add_sym(in, UINT64_MAX - VADDR, 10);
	CHECK_EQ(compile(in), CLEW_OK, "symbols that pass the code's end, or lie outside");
	CHECK(in->table.head->nr_rows < 200, "rows of one function are bounded: %u",
	      in->table.head->nr_rows);
	for (uint64_t n = 0; n < 100; n++) {
		mem_fail_after(n);
		nr_failed += compile(in) == CLEW_NO_MEMORY && mem_has_failed();
		mem_fail_after(UINT64_MAX);
	}
	CHECK(nr_failed > 5, "%u allocations failing in turn: reported", nr_failed);
	input_free(in);
}

/** Small files of functions that lie over each other, each with as many epilogues as count. */
static void test_overlapping(void)
{
	enum { NR = 50000, STEP = 6, SIZE = 400 };
	static const uint8_t unit[STEP] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
	uint8_t *code = mem_alloc(NR * STEP + SIZE);
	Elf64_Sym *syms = mem_calloc(NR, sizeof(*syms));
	struct unw_list *covered = unw_list_new(), *l = unw_list_new();
	struct unw_image image = {.arch = UNW_X86_64, .nr_segments = 1};

	for (size_t i = 0; i < NR * STEP + SIZE; i++)
		code[i] = unit[i % STEP];
	for (size_t i = 0; i < NR; i++)
		syms[i] = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				      .st_shndx = 1,
				      .st_value = VADDR + i * STEP,
				      .st_size = SIZE};
	image.segments[0] = (struct unw_segment){VADDR, NR * STEP + SIZE, OFFSET, code};
	image.symbols = (struct unw_section){(const uint8_t *)syms, NR * sizeof(*syms), 0};
	CHECK_EQ(fp_rows(&image, &covered, 1, l), CLEW_OK, "%d functions in 300 KB", NR);
	CHECK(unw_list_nr_rows(l) < FP_MAX_ROWS + SIZE + NR, "rows of all are bounded: %zu",
	      unw_list_nr_rows(l));
	unw_list_free(l);
	unw_list_free(covered);
	mem_free(syms);
	mem_free(code);
}

int main(void)
{
	test_x86(false);
	test_x86(true);
	test_a64();
	test_marks(UNW_X86_64);
	test_marks(UNW_AARCH64);
	test_covered();
	test_hostile();
	test_overlapping();
	return tap_done();
}
