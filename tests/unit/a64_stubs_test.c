/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/a64_stubs.h"

#include "base/mem.h"
#include "elf/sigreturn_code.h"
#include "unit/tap.h"
#include "unwind/unw_insn_a64.h"
#include "unwind/unw_list.h"

enum { VADDR = 0x1000, OFFSET = 0x400, NR_INSNS = 64 };
enum { NOP = 0xd503201f, BTI_C = 0xd503245f, AUTIA1716 = 0xd503219f, PUSH = 0xa9bf7bf0 };
enum { ADRP = 0xf0000090, LDR = 0xf947fe11, ADD = 0x913fe210, BR = 0xd61f0220 };

/** A segment of instructions; a source covers what the test says. */
struct input {
	struct unw_image image;
	uint8_t code[4 * NR_INSNS];
	struct unw_list *covered;
	struct unw_table table;
	void *block;
};

static struct input *input_new(const uint32_t *insns, size_t nr)
{
	struct input *in = mem_zalloc(sizeof(*in));

	in->image = (struct unw_image){.arch = UNW_AARCH64, .nr_segments = 1};
	in->image.segments[0] = (struct unw_segment){VADDR, sizeof(in->code), OFFSET, in->code};
	in->covered = unw_list_new();
	for (size_t i = 0; i < NR_INSNS; i++)
		store_le32(in->code + 4 * i, i < nr ? insns[i] : NOP);
	return in;
}

static void input_free(struct input *in)
{
	unw_list_free(in->covered);
	mem_free(in->block);
	mem_free(in);
}

static enum clew_err compile(struct input *in)
{
	struct unw_list *l = unw_list_new(), *lists[] = {in->covered, l};
	enum clew_err err = a64_stub_rows(&in->image, &in->covered, 1, l);
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

/** What the rule at instruction @p i says of CFA and RA. */
static const char *rule_at(const struct input *in, size_t i)
{
	static char text[64];
	const struct unw_rule *r = unw_table_find(&in->table, OFFSET + 4 * i);

	if (r->cfa == UNW_CFA_NONE)
		return "-";
	if (r->cfa != UNW_CFA_REG || r->cfa_reg != A64_SP)
		return "?";
	snprintf(text, sizeof(text), "sp+%d %s%d%s", r->cfa_off,
		 r->ra == UNW_SAME     ? "link"
		 : r->ra == UNW_AT_CFA ? "c"
				       : "sp+",
		 r->ra_off, r->flags & UNW_SIGNAL ? " signal" : "");
	return text;
}

static void test_plt(void)
{
	static const uint32_t insns[] = {
		BTI_C, PUSH, ADRP, LDR,       ADD, BR,  NOP, NOP, /* the first entry */
		ADRP,  LDR,  ADD,  BR,                            /* 8 */
		BTI_C, ADRP, LDR,  ADD,       BR,  NOP,           /* 12 */
		ADRP,  LDR,  ADD,  AUTIA1716, BR,                 /* 18 */
		ADRP,  LDR,  ADD,  NOP,                           /* 23: no stub */
		ADRP,  LDR,  NOP,  BR,                            /* 27 */
	};
	static const struct {
		size_t at;
		const char *want;
	} t[] = {
		{0,  "sp+0 link0"},
                {1,  "sp+0 link0"},
                {2,  "sp+16 c-8" },
                {5,  "sp+16 c-8" },
		{6,  "-"         },
                {8,  "sp+0 link0"},
                {11, "sp+0 link0"},
                {12, "sp+0 link0"},
		{16, "sp+0 link0"},
                {17, "-"         },
                {18, "sp+0 link0"},
                {22, "sp+0 link0"},
		{23, "-"         },
                {26, "-"         },
                {27, "-"         },
                {30, "-"         },
	};
	struct input *in = input_new(insns, sizeof(insns) / sizeof(*insns));

	CHECK_EQ(compile(in), CLEW_OK, "entries of a PLT");
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		CHECK_STR(rule_at(in, t[i].at), t[i].want, "at instruction %zu", t[i].at);
	unw_list_begin(in->covered, OFFSET + 32, OFFSET + 48);
	CHECK_EQ(compile(in), CLEW_OK, "and one that a source covers");
	CHECK_STR(rule_at(in, 8), "-", "is left to the source");
	CHECK_STR(rule_at(in, 12), "sp+0 link0", "alone");
	input_free(in);
}

static void test_sigreturn(void)
{
	static const uint32_t insns[] = {
		NOP, A64_MOV_SIGRETURN, A64_SVC, NOP, A64_MOV_SIGRETURN, NOP, A64_SVC};
	struct input *in = input_new(insns, sizeof(insns) / sizeof(*insns));

	CHECK_EQ(compile(in), CLEW_OK, "the trampoline of sigreturn");
	CHECK_STR(rule_at(in, 0), "-", "nothing before it: no call returns there");
	CHECK_STR(rule_at(in, 1), "sp+0 sp+568 signal", "its start");
	CHECK_STR(rule_at(in, 2), "sp+0 sp+568 signal", "its system call");
	CHECK_STR(rule_at(in, 3), "sp+0 sp+568 signal", "in the system call, where pc is after it");
	CHECK_STR(rule_at(in, 4), "-", "one instruction of it is none");
	input_free(in);
}

/** At the end of a segment, and where there is no code. */
static void test_edges(void)
{
	static const uint32_t insns[] = {ADRP, LDR, ADD, BR};
	struct input *in = input_new(insns, 4);

	in->image.segments[0].size = 14;
	CHECK_EQ(compile(in), CLEW_NOT_FOUND, "an entry that is cut off");
	in->image.segments[0].size = 16;
	CHECK_EQ(compile(in), CLEW_OK, "one that ends with the segment");
	in->image.segments[0].bytes = NULL;
	CHECK_EQ(compile(in), CLEW_NOT_FOUND, "no code at hand");
	in->image.arch = UNW_X86_64;
	CHECK_EQ(compile(in), CLEW_NOT_FOUND, "another machine");
	input_free(in);
}

int main(void)
{
	test_plt();
	test_sigreturn();
	test_edges();
	return tap_done();
}
