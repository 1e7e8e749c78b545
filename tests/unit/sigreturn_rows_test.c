/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A signal's trampoline, found by its bytes when a table is made. */
#include "unwind/sigreturn_rows.h"

#include "base/mem.h"
#include "elf/sigreturn_code.h"
#include "unit/tap.h"
#include "unwind/unw_insn.h"
#include "unwind/unw_list.h"

enum { VADDR = 0x1000, OFFSET = 0x400, CODE_BYTES = 0x400 };

static const uint8_t rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
		     eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},
		     other[] = {0xb8, 0x0e, 0, 0, 0, 0x0f, 0x05, 0xbf, 0x0f, 0, 0, 0, 0x0f, 0x05};

/** Code in which another source has the rule of a function for all of it. */
struct input {
	struct unw_image image;
	uint8_t code[CODE_BYTES];
	struct unw_table table;
	void *block;
	enum clew_err err; /* of sigreturn_rows() */
};

static void compile(struct input *in, bool has_other)
{
	struct unw_list *found = unw_list_new(), *all = unw_list_new(), *lists[] = {found, all};
	const struct unw_rule rule = {.cfa = UNW_CFA_REG,
				      .cfa_off = 8,
				      .ra = UNW_AT_CFA,
				      .ra_off = -8,
				      .origin = UNW_DEBUG_FRAME};
	size_t size;

	in->err = sigreturn_rows(&in->image, found);
	if (has_other) {
		unw_list_begin(all, OFFSET, OFFSET + CODE_BYTES);
		unw_list_row(all, OFFSET, &rule);
	}
	mem_free(in->block);
	in->block = NULL;
	in->table = (struct unw_table){0};
	if (!unw_table_build_of(lists, 2, in->image.arch, &in->block, &size) &&
	    unw_table_of_block(&in->table, in->block, size))
		CHECK(false, "the table is whole");
	unw_list_free(found);
	unw_list_free(all);
}

static struct input *input_new(enum unw_arch arch, uint8_t fill)
{
	struct input *in = mem_zalloc(sizeof(*in));

	in->image = (struct unw_image){.arch = arch, .nr_segments = 1};
	in->image.segments[0] = (struct unw_segment){VADDR, CODE_BYTES, OFFSET, in->code};
	memset(in->code, fill, CODE_BYTES);
	return in;
}

static void input_free(struct input *in)
{
	mem_free(in->block);
	mem_free(in);
}

/* Is the rule at @p at that of a trampoline, through which all registers come back? */
static bool is_signal(const struct input *in, uint64_t at)
{
	const struct unw_rule *r = in->block ? unw_table_find(&in->table, OFFSET + at) : NULL;

	return r && r->flags & UNW_SIGNAL && r->ra == UNW_AT_REG && r->origin == UNW_TRAMPOLINE;
}

static bool is_signal_in(const struct input *in, uint64_t from, uint64_t to)
{
	for (uint64_t at = from > 4 ? from - 4 : 0; at < to + 4; at++)
		if (is_signal(in, at) != (at >= from && at < to))
			return false;
	return true;
}

static void test_x86(bool has_other)
{
	struct input *in = input_new(UNW_X86_64, 0x90);
	const char *beside = has_other ? ", as if it were called" : "";

	memcpy(in->code + 0x100, rax, sizeof(rax));
	memcpy(in->code + 0x203, eax, sizeof(eax));
	memcpy(in->code + 0x280, other, sizeof(other));
	in->code[0x2ff] = 0xc3;
	memcpy(in->code + 0x300, rax, sizeof(rax));
	memcpy(in->code + CODE_BYTES - sizeof(eax), eax, sizeof(eax));
	compile(in, has_other);
	CHECK(!in->err, "some are found%s", beside);
	CHECK(is_signal_in(in, 0xff, 0x109), "the long form, and the byte before%s", beside);
	CHECK(is_signal_in(in, 0x202, 0x20a), "the short form%s", beside);
	CHECK(is_signal_in(in, 0x300, 0x309), "without the byte before that is a return%s", beside);
	CHECK(is_signal(in, CODE_BYTES - 1), "one at the end%s", beside);
	for (uint64_t at = 0x27f; at < 0x2ff; at++)
		if (is_signal(in, at))
			CHECK(false, "%llx is of another system call", (unsigned long long)at);
	input_free(in);
}

static void test_x86_edges(void)
{
	struct input *in = input_new(UNW_X86_64, 0xcc);

	memcpy(in->code, rax, sizeof(rax));
	compile(in, false);
	CHECK(is_signal_in(in, 0, 9), "at the start there is no byte before");
	memcpy(in->code, rax + 1, sizeof(rax) - 1);
	compile(in, false);
	CHECK(in->err == CLEW_NOT_FOUND && !in->block, "without its first byte it is none");
	memset(in->code, 0xcc, CODE_BYTES);
	memcpy(in->code + CODE_BYTES - 8, rax, 8);
	compile(in, false);
	CHECK(in->err == CLEW_NOT_FOUND, "nor without its last");
	in->image.segments[0].bytes = NULL;
	compile(in, false);
	CHECK(in->err == CLEW_NOT_FOUND, "nor where no bytes are at hand");
	input_free(in);
}

static void test_aarch64(void)
{
	struct input *in = input_new(UNW_AARCH64, 0);

	store_le32(in->code + 0x100, A64_MOV_SIGRETURN);
	store_le32(in->code + 0x104, A64_SVC);
	store_le32(in->code + 0x200, A64_MOV_SIGRETURN);
	store_le32(in->code + 0x302, A64_MOV_SIGRETURN);
	store_le32(in->code + 0x306, A64_SVC);
	compile(in, true);
	CHECK(!in->err && is_signal_in(in, 0xff, 0x108), "aarch64's");
	CHECK(!is_signal(in, 0x200) && !is_signal(in, 0x302),
	      "half of it, or between instructions");
	input_free(in);
}

static void test_many(void)
{
	struct input *in = input_new(UNW_X86_64, 0x90);

	for (size_t at = 0; at + sizeof(eax) <= CODE_BYTES; at += sizeof(eax))
		memcpy(in->code + at, eax, sizeof(eax));
	compile(in, false);
	CHECK(!in->err && is_signal(in, 0) && is_signal(in, 700), "code full of them");
	in->image.arch = UNW_S390X;
	compile(in, false);
	CHECK(in->err == CLEW_NOT_FOUND, "s390x: its instruction is too short to be sure");
	input_free(in);
}

int main(void)
{
	test_x86(false);
	test_x86(true);
	test_x86_edges();
	test_aarch64();
	test_many();
	return tap_done();
}
