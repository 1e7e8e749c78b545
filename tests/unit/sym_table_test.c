/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_table.h"

#include <elf.h>

#include "unit/tap.h"

struct row {
	uint64_t start, size;
	const char *name;
	uint8_t bind, type;
};

static void build(struct sym_table *t, const struct row *rows, size_t nr, enum sym_fill fill)
{
	sym_table_init(t, NULL, 0);
	for (size_t i = 0; i < nr; i++) {
		struct sym s = {.start = rows[i].start,
				.end = rows[i].start + rows[i].size,
				.is_own = 1,
				.type = rows[i].type};

		s.name = sym_table_own_name(t, rows[i].name, strlen(rows[i].name));
		sym_table_add(t, &s, rows[i].bind);
	}
	sym_table_finish(t, fill);
}

static const char *name_at(const struct sym_table *t, uint64_t addr)
{
	const struct sym *s = sym_table_find(t, addr);

	return s ? sym_name(t, s) : NULL;
}

static void test_same_address(void)
{
	static const struct {
		const char *what, *want;
		struct row a, b;
	} cases[] = {
		{"a size beats none",
		 "sized",        {8, 0, "empty", STB_GLOBAL, STT_FUNC},
		 {8, 4, "sized", STB_LOCAL, STT_FUNC}          },
		{"what kind it is does not matter",
		 "a_long_label", {8, 4, "fn", STB_LOCAL, STT_FUNC},
		 {8, 4, "a_long_label", STB_GLOBAL, STT_NOTYPE}},
		{"strong beats weak",
		 "local",        {8, 4, "weak_and_long", STB_WEAK, STT_FUNC},
		 {8, 4, "local", STB_LOCAL, STT_FUNC}          },
		{"global beats local",
		 "glob",         {8, 4, "local", STB_LOCAL, STT_FUNC},
		 {8, 4, "glob", STB_GLOBAL, STT_FUNC}          },
		{"fewer underscores",
		 "read",         {8, 4, "__libc_read", STB_GLOBAL, STT_FUNC},
		 {8, 4, "read", STB_GLOBAL, STT_FUNC}          },
		{"then the longer name",
		 "reader",       {8, 4, "read", STB_GLOBAL, STT_FUNC},
		 {8, 4, "reader", STB_GLOBAL, STT_FUNC}        },
		{"then the first",
		 "aaaa",         {8, 4, "aaaa", STB_GLOBAL, STT_FUNC},
		 {8, 4, "bbbb", STB_GLOBAL, STT_FUNC}          },
		{"but no SyS alias",
		 "sys_ab",       {8, 4, "SyS_ab", STB_GLOBAL, STT_FUNC},
		 {8, 4, "sys_ab", STB_GLOBAL, STT_FUNC}        },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct row rows[3] = {
			cases[i].a, cases[i].b, {64, 4, "end", STB_GLOBAL, STT_FUNC}
                };
		struct sym_table t;

		build(&t, rows, 3, SYM_FILL_ELF);
		CHECK_STR(name_at(&t, 9), cases[i].want, "same address: %s", cases[i].what);
		sym_table_done(&t);
	}
}

static void test_sizes(void)
{
	static const struct row rows[] = {
		{0x3000, 0,    "last",  STB_GLOBAL, STT_FUNC},
		{0x1000, 0,    "open",  STB_GLOBAL, STT_FUNC},
		{0x2000, 0x10, "short", STB_GLOBAL, STT_FUNC},
	};
	struct sym_table t;

	build(&t, rows, 3, SYM_FILL_ELF);
	CHECK_STR(name_at(&t, 0x1fff), "open", "size 0 reaches to the next symbol");
	CHECK_STR(name_at(&t, 0x2010), NULL, "a given size is kept");
	CHECK_STR(name_at(&t, 0x3fff), "last", "the last one reaches a page on");
	CHECK_STR(name_at(&t, 0x4000), NULL, "and no further");
	CHECK_STR(name_at(&t, 0xfff), NULL, "before the first");
	sym_table_done(&t);
	build(&t, rows, 3, SYM_FILL_LATEST);
	CHECK_STR(name_at(&t, 0x1000), "open", "unfilled: size 0 covers its own address");
	CHECK_STR(name_at(&t, 0x1001), NULL, "and nothing else");
	sym_table_done(&t);
	build(&t, rows, 0, SYM_FILL_ELF);
	CHECK_STR(name_at(&t, 0x1000), NULL, "an empty table");
	sym_table_done(&t);
}

/** The plain form of the search tree's rule, for tables without repetition: brute force over a
 * sorted array does not show the winner of an overlap, but one of those that cover must be it. */
static void test_overlaps(void)
{
	enum { N = 2000 };
	static struct row rows[N];
	struct sym_table t;
	uint32_t x = 1;
	int wrong = 0, covered = 0;

	for (int i = 0; i < N; i++) {
		x = x * 1664525 + 1013904223;
		rows[i] = (struct row){(x >> 8) % 20000, (x >> 3) % 200, "some_name", STB_GLOBAL,
				       STT_FUNC};
	}
	build(&t, rows, N, SYM_FILL_LATEST);
	for (uint64_t a = 0; a < 21000; a++) {
		const struct sym *s = sym_table_find(&t, a);

		covered += s != NULL;
		wrong += s && (a < s->start || (a >= s->end && a != s->start));
	}
	CHECK(t.nr_ranges > 0 && covered > 15000 && !wrong, "2,000 overlapping symbols");
	sym_table_done(&t);
	build(&t, rows, N, SYM_FILL_ELF);
	for (size_t i = 1; i < t.nr_ranges; i++)
		wrong += t.ranges[i - 1].end > t.ranges[i].start;
	CHECK(!wrong, "and with repetitions removed: ranges are disjoint and sorted");
	sym_table_done(&t);
}

/* The answers perf 6.1 gives for a binary with these symbols in this order (tests/diff). */
static void test_nested(void)
{
	static const struct row rows[] = {
		{0x100, 0x100, "outer",  STB_GLOBAL, STT_FUNC},
		{0x140, 0x10,  "inner",  STB_GLOBAL, STT_FUNC},
		{0x180, 0x10,  "inner2", STB_GLOBAL, STT_FUNC},
	};
	struct sym_table t;

	build(&t, rows, 3, SYM_FILL_ELF);
	CHECK_STR(name_at(&t, 0x148), "inner", "the root of the tree wins: inner");
	CHECK_STR(name_at(&t, 0x120), "outer", "left of it: outer");
	CHECK_STR(name_at(&t, 0x160), NULL, "right of it, outer is not on the path");
	sym_table_done(&t);
}

static void test_no_memory(void)
{
	static const struct row rows[] = {
		{0x100, 0x100, "a", STB_GLOBAL, STT_FUNC},
		{0x140, 0x10,  "b", STB_GLOBAL, STT_FUNC}
        };
	struct sym_table t;
	int nr_failed = 0;

	for (uint64_t n = 0;; n++) {
		mem_fail_after(n);
		build(&t, rows, 2, SYM_FILL_ELF);
		nr_failed += mem_has_failed();
		name_at(&t, 0x148);
		sym_table_done(&t);
		if (!mem_has_failed())
			break;
	}
	mem_fail_after(UINT64_MAX);
	CHECK(nr_failed >= 5, "every allocation may fail");
}

int main(void)
{
	test_same_address();
	test_sizes();
	test_overlaps();
	test_nested();
	test_no_memory();
	return tap_done();
}
