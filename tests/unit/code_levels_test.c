/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/code_levels.h"

#include "unit/tap.h"

static void run(struct code_counts *c, uint64_t first, uint64_t last, uint64_t nr)
{
	code_counts_add_run(c, &(struct code_count){.a = first, .b = last, .nr = nr});
}

static void test_sums(void)
{
	struct code_counts c = {0};
	struct code_levels l = {0};

	run(&c, 0x100, 0x10c, 10);
	run(&c, 0x108, 0x110, 3);
	run(&c, 0x110, 0x110, 4);
	CHECK(code_levels_make(&l, &c.runs), "made");
	CHECK_EQ(code_levels_at(&l, 0xff), 0, "before all, nothing ran");
	CHECK_EQ(code_levels_at(&l, 0x100), 10, "the first instruction");
	CHECK_EQ(code_levels_at(&l, 0x108), 13, "where runs overlap");
	CHECK_EQ(code_levels_at(&l, 0x10c), 13, "the last instruction of a run is in it");
	CHECK_EQ(code_levels_at(&l, 0x110), 7, "one run ends where another is");
	CHECK_EQ(code_levels_at(&l, 0x111), 0, "after all");
	CHECK_EQ(code_levels_most(&l, 0x100, 0x108), 10, "the most of a part");
	CHECK_EQ(code_levels_most(&l, 0x100, 0x109), 13, "its end is not in it");
	CHECK_EQ(code_levels_most(&l, 0x104, 0x200), 13, "also where that is not at its start");
	CHECK_EQ(code_levels_most(&l, 0x200, 0x300), 0, "a part that never ran");
	code_levels_done(&l);
	code_counts_done(&c);
}

static void test_strange(void)
{
	struct code_counts c = {0};
	struct code_levels l = {0};

	CHECK(code_levels_make(&l, &c.runs) && !code_levels_at(&l, 0) &&
		      !code_levels_most(&l, 0, 9),
	      "of nothing");
	run(&c, 9, 3, 5);
	run(&c, UINT64_MAX - 1, UINT64_MAX, 2);
	CHECK(code_levels_make(&l, &c.runs), "made");
	CHECK_EQ(code_levels_at(&l, 5), 0, "a run that ends before it begins is none");
	CHECK_EQ(code_levels_at(&l, UINT64_MAX), 2, "up to the last address");
	CHECK_EQ(code_levels_at(&l, 0), 0, "and not around it");
	code_levels_done(&l);
	code_counts_done(&c);
}

int main(void)
{
	test_sums();
	test_strange();
	return tap_done();
}
