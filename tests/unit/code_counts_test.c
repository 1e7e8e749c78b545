/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/code_counts.h"

#include "unit/tap.h"

static void sums(void)
{
	struct code_counts c = {0};
	struct code_count run = {.a = 8,
				 .b = 16,
				 .nr = 3,
				 .nr_part = 1,
				 .nr_timed = 2,
				 .cycles = UINT64_MAX - 1,
				 .last_bytes = 4};
	struct code_count branch = {.a = 16, .b = 8, .nr = UINT64_MAX - 1};

	CHECK(code_counts_add_run(&c, &run) && code_counts_add_run(&c, &run), "a run, twice");
	run.a = 4;
	CHECK(code_counts_add_run(&c, &run), "another one, that ends at the same place");
	CHECK(code_counts_add_branch(&c, &branch) && code_counts_add_branch(&c, &branch),
	      "a branch, twice");
	CHECK(code_counts_add_sample(&c, 12, 2) && code_counts_add_sample(&c, 12, 1), "a sample");
	CHECK_EQ(code_counts_weight(&c), 9, "weight");
	CHECK_EQ(code_counts_samples(&c), 3, "samples");
	code_counts_sort(&c);
	CHECK_EQ(c.runs.nr, 2, "two runs");
	CHECK_EQ(c.runs.data[0].a, 4, "in order of their first instruction");
	CHECK_EQ(c.runs.data[1].nr, 6, "counts are added");
	CHECK_EQ(c.runs.data[1].nr_part, 2, "and how often it was passed");
	CHECK(c.runs.data[1].nr_timed == 4 && c.runs.data[1].cycles == UINT64_MAX,
	      "and its cycles");
	CHECK_EQ(c.branches.nr, 1, "one branch");
	CHECK(c.branches.data[0].nr == UINT64_MAX, "counts do not wrap");
	CHECK_EQ(c.samples.data[0].nr, 3, "samples");
	code_counts_done(&c);
	code_counts_done(&c);
}

static void many(void)
{
	struct code_counts c = {0};
	bool is_sorted = true;
	uint64_t all = 0;

	for (uint64_t i = 0; i < 200000; i++) {
		struct code_count e = {.a = i * 0x9e3779b97f4a7c15u >> 48, .b = i % 7, .nr = 1};

		if (!code_counts_add_branch(&c, &e))
			break;
	}
	code_counts_sort(&c);
	for (size_t i = 0; i < c.branches.nr; i++) {
		const struct code_count *e = &c.branches.data[i];

		all += e->nr;
		is_sorted &= !i || e[-1].a < e->a || (e[-1].a == e->a && e[-1].b < e->b);
	}
	CHECK(is_sorted, "each pair once, in order");
	CHECK_EQ(all, 200000, "nothing is lost");
	code_counts_done(&c);
}

static void without_memory(void)
{
	struct code_counts c = {0};
	uint64_t all = 0, nr_refused = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		struct code_count e = {.a = i, .b = i, .nr = 1};

		mem_fail_after(i % 3 ? UINT64_MAX : 0);
		nr_refused += !code_counts_add_run(&c, &e);
	}
	mem_fail_after(UINT64_MAX);
	vec_for_each (&c.runs, e)
		all += e->nr;
	CHECK(nr_refused > 0, "memory runs short now and then");
	CHECK_EQ(all, 1000 - nr_refused, "what was not refused is there");
	code_counts_done(&c);
}

int main(void)
{
	sums();
	many();
	without_memory();
	return tap_done();
}
