/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/llvm_text.h"

#include "elf/dwarf_discriminator.h"
#include "format/profile/lcov_text.h"
#include "profile/inline_order.h"
#include "unit/tap.h"

static enum clew_err keep(void *text, const void *data, size_t size)
{
	buf_add(text, data, size);
	return CLEW_OK;
}

static enum clew_err refuse(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return CLEW_STOPPED;
}

/* --- LLVM --- */

static void node(struct inline_profile *p, uint32_t parent, uint32_t offset, const char *name,
		 uint64_t total, uint64_t head)
{
	struct inline_node n = {.parent = parent,
				.offset = offset,
				.discriminator = offset == 5,
				.name = name,
				.total = total,
				.head = head};

	CHECK(vec_push(&p->nodes, n), "a node");
}

static void place(struct inline_profile *p, uint32_t of, uint32_t offset, uint64_t nr)
{
	CHECK(vec_push(&p->places, (struct inline_place){of, offset, 0, nr}), "a place");
}

static void target(struct inline_profile *p, uint32_t offset, const char *name, uint64_t nr)
{
	struct inline_target t = {
		.from = {0, offset, 0, nr},
                  .name = name
        };

	CHECK(vec_push(&p->targets, t), "a call");
}

static void test_llvm(void)
{
	struct inline_profile p = {0};
	struct buf text = {0};

	node(&p, INLINE_TOP, 0, "small", 8, 2);
	node(&p, INLINE_TOP, 0, "_Z3bigv", 500, 4);
	node(&p, 0, 5, "second", 3, 0);
	node(&p, 0, 3, "first\n here", 4, 0);
	node(&p, 3, 1, "deep", 4, 0);
	place(&p, 4, 65535, 4);
	place(&p, 2, 0, 3);
	place(&p, 0, 9, 1);
	place(&p, 0, 2, 0);
	place(&p, 1, 1, 500);
	target(&p, 9, "seldom", 1);
	target(&p, 9, "often", 7);
	CHECK(inline_order(&p), "ordered");
	CHECK_EQ(llvm_text(&p, &(struct clew_sink){keep, &text}), CLEW_OK, "written");
	CHECK_STR(buf_cstr(&text),
		  "_Z3bigv:500:4\n 1: 500\n"
		  "small:8:2\n 2: 0\n 9: 1 often:7 seldom:1\n"
		  " 3: first\\x0a_here:4\n  1: deep:4\n   65535: 4\n"
		  " 5.1: second:3\n  0: 3\n",
		  "functions, largest first; what was inlined inside of them, by place");
	CHECK_EQ(llvm_text(&p, &(struct clew_sink){refuse, NULL}), CLEW_STOPPED,
		 "what the sink says");
	inline_profile_done(&p);
	buf_done(&text);
}

static void test_totals(void)
{
	const struct counted_binary unknown = {0};
	struct inline_profile p = {0};

	node(&p, INLINE_TOP, 0, "outer", 0, 0);
	node(&p, 0, 1, "inner", 0, 0);
	place(&p, 0, 1, 7);
	place(&p, 1, 2, UINT64_MAX);
	place(&p, 1, 3, 1);
	CHECK_EQ(inline_profile_make(&p, &unknown, NULL), CLEW_OK, "added up");
	CHECK(p.nodes.data[0].total == UINT64_MAX && p.nodes.data[1].total == UINT64_MAX,
	      "totals end at the largest number");
	inline_profile_done(&p);
}

/* As LLVM 19 writes them: clang -S of a loop that is unrolled. */
static void test_discriminators(void)
{
	CHECK_EQ(dwarf_packed_number(2), 1, "the first block");
	CHECK_EQ(dwarf_packed_number(dwarf_packed_rest(2)), 0, "of code that is not multiplied");
	CHECK_EQ(dwarf_packed_number(13), 0, "no block,");
	CHECK_EQ(dwarf_packed_number(dwarf_packed_rest(13)), 3, "three times");
	CHECK_EQ(dwarf_packed_number(0x1f << 1), 31, "five bits");
	CHECK_EQ(dwarf_packed_number(1 << 1 | 0x40 | 1 << 7), 33, "and twelve");
	CHECK_EQ(dwarf_packed_number(dwarf_packed_rest(0x42 | 1 << 7 | 4 << 14)), 2,
		 "before another number");
}

/* --- LCOV --- */

static void test_lcov(void)
{
	struct line_counts c = {0};
	struct buf text = {0};

	CHECK(vec_push(&c.files, "/a\nb.c") && vec_push(&c.files, "/c.c") &&
		      vec_push(&c.lines, (struct line_count){.file = 0, .line = 3, .nr = 7}) &&
		      vec_push(&c.lines, (struct line_count){.file = 0, .line = 4}) &&
		      vec_push(&c.lines, (struct line_count){.file = 1, .line = 1, .nr = 1}),
	      "lines");
	CHECK(vec_push(&c.functions, (struct line_function){0, 2, "f(int, int)", 7}) &&
		      vec_push(&c.functions, (struct line_function){0, 9, "g", 0}),
	      "functions");
	CHECK(vec_push(&c.branches, (struct line_branch){.line = 3, .nr = 7, .nr_taken = 7}) &&
		      vec_push(&c.branches, (struct line_branch){.line = 3, .address = 8}),
	      "branches");
	CHECK_EQ(lcov_text(&c, &(struct clew_sink){keep, &text}), CLEW_OK, "written");
	CHECK_STR(buf_cstr(&text),
		  "TN:\nSF:/a\\x0ab.c\nFN:2,f(int_ int)\nFN:9,g\nFNDA:7,f(int_ int)\nFNDA:0,g\n"
		  "FNF:2\nFNH:1\nBRDA:3,0,0,7\nBRDA:3,0,1,0\nBRDA:3,1,0,-\nBRDA:3,1,1,-\n"
		  "BRF:4\nBRH:1\nDA:3,7\nDA:4,0\nLF:2\nLH:1\nend_of_record\n"
		  "TN:\nSF:/c.c\nFNF:0\nFNH:0\nDA:1,1\nLF:1\nLH:1\nend_of_record\n",
		  "each file, and what of it ran");
	line_counts_done(&c);
	buf_done(&text);
}

int main(void)
{
	test_llvm();
	test_totals();
	test_discriminators();
	test_lcov();
	return tap_done();
}
