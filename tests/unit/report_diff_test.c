/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_diff.h"

#include <stdlib.h>
#include <string.h>

#include "report/report_diff_name.h"
#include "unit/tap.h"

static const struct {
	const char *name, *want;
} functions[] = {
	{"work",				    "work"                },
	{"work.constprop.0",                        "work"                },
	{"work.isra.12",			    "work"                },
	{"work.part.3.constprop.0",                 "work"                },
	{"work.cold",			       "work"                },
	{"work.cold.7",			     "work"                },
	{"work.isra.0.cold",                        "work"                },
	{"work.llvm.11223344556677889900",          "work"                },
	{"work.lto_priv.2.cold",                    "work"                },
	{"A::f(int) [clone .isra.0]",               "A::f(int)"           },
	{"A::f(int) [clone .part.1] [clone .cold]", "A::f(int)"           },
	{"f[abi:cxx11]",			    "f[abi:cxx11]"        },
	{"A::f() [clone .mine]",                    "A::f() [clone .mine]"},
	{"work.part",			       "work.part"           },
	{"work.part.x",			     "work.part.x"         },
	{"work.constprop",                          "work.constprop"      },
	{"work.0",				  "work.0"              },
	{"work2",				   "work2"               },
	{".cold",				   ".cold"               },
	{".isra.0",				 ".isra.0"             },
	{"scold",				   "scold"               },
	{"",					""		    },
	{"]",				       "]"		   },
	{" [clone .cold]",                          " [clone .cold]"      },
	{"123",				     "123"                 },
};

static void test_functions(void)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		struct buf b = {0};

		report_diff_function(&b, functions[i].name);
		CHECK_STR(buf_cstr(&b), functions[i].want, "function '%s'", functions[i].name);
		buf_done(&b);
	}
}

static void test_files(void)
{
	struct report_diff_files f = {0};

	CHECK_STR(report_diff_file(&f, "aa", 2, "prog"), "prog", "a file with a build id");
	CHECK_STR(report_diff_file(&f, "aa", 2, "prog.new"), "prog", "the same under another name");
	CHECK_STR(report_diff_file(&f, "bb", 2, "prog"), "prog", "another build of the name");
	CHECK_STR(report_diff_file(&f, NULL, 0, "other"), "other", "no build id");
	CHECK_STR(report_diff_file(&f, "cc", 2, "other"), "other", "a later build id");
	CHECK_STR(report_diff_file(&f, NULL, 0, "perf-12.map"), "[jit]", "generated code");
	CHECK_STR(report_diff_file(&f, NULL, 0, "jit-12.dump"), "[jit]", "generated code");
	CHECK_STR(report_diff_file(&f, "dd", 2, "jitted-12-3.so"), "[jit]", "generated code");
	CHECK_STR(report_diff_file(&f, NULL, 0, "perf-x.map"), "perf-x.map", "another file");
	CHECK_STR(report_diff_file(&f, NULL, 0, "perf-.map"), "perf-.map", "another file");
	report_diff_files_done(&f);
}

static void test_root(void)
{
	static const double rows[] = {0, 1e-30, 0.25, 1, 2, 1e4, 1e30};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double x = report_diff_root(rows[i]), off = x * x - rows[i];

		CHECK(off <= rows[i] * 1e-12 && -off <= rows[i] * 1e-12, "root of %g is %g",
		      rows[i], x);
	}
}

/* Rows are letters, "a3" is three samples of a, with a period of 10 each. */
struct side {
	const char *rows;
	uint64_t ns, cpu_ns;
};

static struct report_diff_whole whole_of(const struct side *s)
{
	struct report_diff_whole w = {.ns = s->ns, .cpu_ns = s->cpu_ns};

	for (const char *at = s->rows; *at;) {
		char *end, letter = *at;
		uint64_t nr = strtoull(at + 1, &end, 10);

		w.all.nr += nr;
		w.all.period += nr * 10;
		if (letter == 'r')
			w.ref = (struct report_diff_count){nr * 10, nr};
		at = end + (*end == ' ');
	}
	return w;
}

static bool add_side(struct report_diff *d, uint32_t input, const struct side *s)
{
	for (const char *at = s->rows; *at;) {
		char *end;
		uint64_t nr = strtoull(at + 1, &end, 10);
		struct report_diff_count c = {nr * 10, nr};

		if (!report_diff_add(d, input, at, 1, c))
			return false;
		at = end + (*end == ' ');
	}
	return true;
}

/* @return false: the normalisation lacks something, or memory is short. */
static bool make(struct report_diff *d, enum report_diff_norm norm, struct report_diff_opts *o,
		 const struct side *sides, uint32_t nr)
{
	*d = (struct report_diff){.nr_inputs = nr};
	for (uint32_t i = 0; i < nr; i++) {
		struct report_diff_whole w = whole_of(&sides[i]);

		if (!report_diff_scale_of(norm, &w, &o->scales[i]) || !add_side(d, i, &sides[i]))
			return false;
	}
	report_diff_finish(d, o);
	return true;
}

static void put_cell(struct buf *out, const struct report_diff_cell *c)
{
	buf_printf(out, ":%g", c->delta);
	if (c->state == REPORT_DIFF_IN_BOTH)
		buf_printf(out, "x%g", c->ratio);
	else
		buf_str(out, c->state == REPORT_DIFF_NEW    ? "new"
			     : c->state == REPORT_DIFF_GONE ? "gone"
							    : "none");
	buf_str(out, c->is_significant ? "!" : "");
}

static const struct diff_row {
	const char *what;
	enum report_diff_norm norm;
	struct report_diff_opts opts;
	struct side sides[3];
	const char *want; /* of rows that are shown: letter:delta, ratio or state, ! significant */
} rows[] = {
	{"equal recordings",                   REPORT_DIFF_SHARE, {0},                                                {{"a30 b70"}, {"a30 b70"}},    "a:0x1 b:0x1"    },
	{"as shares, length does not matter",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a30 b70"}, {"b140 a60"}},
	 "a:0x1 b:0x1"																		},
	{"what grew comes first",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a20 b80"}, {"a80 b20"}},
	 "a:60x4! b:-60x0.25!"																	},
	{"and the other way",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a80 b20"}, {"a20 b80"}},
	 "b:60x4! a:-60x0.25!"																	},
	{"little of few samples is noise",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a4 b4"}, {"a5 b3"}},
	 "a:12.5x1.25 b:-12.5x0.75"																   },
	{"new and gone",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a50 b50"}, {"a50 c50"}},
	 "c:50new! a:0x1 b:-50gone!"																  },
	{"a new row of five samples is noise",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a1000"}, {"a995 b5"}},
	 "b:0.5new a:-0.5x0.995"																      },
	{"one of six is not",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a1000"}, {"a994 b6"}},
	 "b:0.6new! a:-0.6x0.994!"																    },
	{"names added twice are one row",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a10 b20 a10"}, {"b20 a20"}},
	 "a:0x1 b:0x1"																		},
	{"by size of the difference",
	 REPORT_DIFF_SHARE,				       {.order = REPORT_DIFF_BY_DELTA_ABS},
	 {{"a20 b60 c20"}, {"a50 b10 c40"}},
	 "b:-50x0.166667! a:30x2.5! c:20x2!"															  },
	{"by ratio",
	 REPORT_DIFF_SHARE,				       {.order = REPORT_DIFF_BY_RATIO},
	 {{"a10 b60 g30"}, {"a30 b60 n10"}},
	 "n:10new! a:20x3! b:0x1 g:-30gone!"															  },
	{"by weights",
	 REPORT_DIFF_NONE,					{.order = REPORT_DIFF_BY_WDIFF, .weights = {3, 1}},
	 {{"a10 b20"}, {"a20 b70"}},
	 "b:500x3.5! a:100x2"																	 },
	{"significant rows",
	 REPORT_DIFF_SHARE,				       {.only_significant = true},
	 {{"a4 b46 c50"}, {"a5 b15 c80"}},
	 "c:30x1.6! b:-31x0.326087!"																  },
	{"rows of some share",
	 REPORT_DIFF_SHARE,				       {.min_values = {10, 10}},
	 {{"a5 b5 c90"}, {"a2 b20 c78"}},
	 "b:15x4! c:-12x0.866667!"																    },
	{"per second",
	 REPORT_DIFF_TIME,					{0},
	 {{"a100", 1000000000}, {"a100", 500000000}},
	 "a:1000x2!"																		  },
	{"per second, within noise",
	 REPORT_DIFF_TIME,					{0},
	 {{"a100", 1000000000}, {"a110", 1000000000}},
	 "a:100x1.1"																		  },
	{"per CPU second",
	 REPORT_DIFF_CPU,					 {0},
	 {{"a100", 0, 1000000000}, {"a100", 0, 2000000000}},
	 "a:-500x0.5!"																		},
	{"of a function",                      REPORT_DIFF_REF,   {0},						{{"r100 a50"}, {"r200 a200"}}, "a:50x2! r:0x1"  },
	{"totals",			     REPORT_DIFF_NONE,  {0},						{{"a100 b10"}, {"a200 b10"}},  "a:1000x2! b:0x1"},
	{"no samples before",                  REPORT_DIFF_SHARE, {0},                                                {{""}, {"a10"}},               "a:100new!"      },
	{"no samples",			 REPORT_DIFF_TIME,  {0},						{{""}, {""}},                  ""               },
	{"three recordings, the second first",
	 REPORT_DIFF_SHARE,				       {0},
	 {{"a50 b50"}, {"a60 b40"}, {"a10 b80 c10"}},
	 "a:10x1.2:-40x0.2! c:0none:10new! b:-10x0.8:30x1.6!"													 },
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report_diff_opts o = rows[i].opts;
		struct report_diff d;
		struct buf b = {0};
		bool ok = make(&d, rows[i].norm, &o, rows[i].sides, rows[i].sides[2].rows ? 3 : 2);

		for (size_t r = 0; r < d.nr_shown; r++) {
			const struct report_diff_row *row = &d.rows.data[r];

			buf_printf(&b, "%s%s", r ? " " : "", intern_get(&d.names, row->name));
			for (uint32_t k = 1; k < d.nr_inputs; k++)
				put_cell(&b, report_diff_cell(&d, row, k));
		}
		CHECK(ok, "%s: is compared", rows[i].what);
		CHECK_STR(buf_cstr(&b), rows[i].want, "%s", rows[i].what);
		buf_done(&b);
		report_diff_done(&d);
	}
}

static void test_refused(void)
{
	static const struct side some = {.rows = "a1"};
	static const enum report_diff_norm norms[] = {REPORT_DIFF_TIME, REPORT_DIFF_CPU,
						      REPORT_DIFF_REF};
	struct report_diff_whole w = whole_of(&some);
	struct report_diff_scale s;

	for (size_t i = 0; i < sizeof(norms) / sizeof(norms[0]); i++)
		CHECK(!report_diff_scale_of(norms[i], &w, &s), "nothing to divide by: %d",
		      (int)norms[i]);
	w.all.period = 0;
	CHECK(report_diff_scale_of(REPORT_DIFF_SHARE, &w, &s) && !(s.factor > 0),
	      "shares of nothing are 0");
}

static void test_error(void)
{
	static const struct side sides[] = {{.rows = "a20 b80"}, {.rows = "a50 b150"}};
	struct report_diff_opts o = {0};
	struct report_diff d;
	double want;

	CHECK(make(&d, REPORT_DIFF_SHARE, &o, sides, 2), "two recordings");
	/* sqrt(p (1 - p) / n) of both, in percent */
	want = 100 * report_diff_root(0.2 * 0.8 / 100 + 0.25 * 0.75 / 200);
	CHECK(report_diff_cell(&d, &d.rows.data[0], 1)->delta_error - want < 1e-9 &&
		      want - report_diff_cell(&d, &d.rows.data[0], 1)->delta_error < 1e-9,
	      "the standard error is the binomial one, %g", want);
	report_diff_done(&d);
}

static void test_above(void)
{
	static const struct side sides[] = {{.rows = "a200 b800"}, {.rows = "a300 b690 c10"}};
	struct report_diff_opts o = {0};
	const struct report_diff_row *worst;
	struct report_diff d;
	double delta;

	CHECK(make(&d, REPORT_DIFF_SHARE, &o, sides, 2), "two recordings");
	CHECK_EQ(report_diff_above(&d, 0.5, &worst, &delta), 2, "two grew by more than 0.5");
	CHECK(worst == &d.rows.data[0] && delta > 9.99 && delta < 10.01, "a most, by %g", delta);
	CHECK_EQ(report_diff_above(&d, 9, &worst, &delta), 1, "one by more than 9");
	CHECK_EQ(report_diff_above(&d, 11, &worst, &delta), 0, "none by more than 11");
	CHECK(!worst, "and none is named");
	report_diff_done(&d);
}

static void test_budget(void)
{
	struct budget budget = {.limit = 3000};
	struct report_diff d = {.nr_inputs = 2, .account.budget = &budget};
	struct report_diff_opts o = {0};
	struct report_diff_count one = {1, 1};
	bool ok = true;

	for (char c = 'a'; c <= 'z'; c++)
		ok &= report_diff_add(&d, 0, &c, 1, one);
	CHECK(ok && d.rows.nr > 1 && d.rows.nr < 26 && budget.nr_refused == 1, "%zu rows have room",
	      d.rows.nr);
	CHECK(report_diff_add(&d, 1, "a", 1, one), "what is there still counts");
	report_diff_finish(&d, &o);
	report_diff_done(&d);
	CHECK_EQ(budget.used, 0, "all is given back");
}

/* Of a feed none is empty, but the table takes any bytes. */
static void test_odd_names(void)
{
	static const struct {
		const char *name;
		size_t size;
		uint64_t nr[2];
	} names[] = {
		{"a",    1, {1, 10}},
		{"",     0, {2, 20}},
		{"\0",   1, {3, 30}},
		{"a\0b", 3, {4, 40}},
		{"b",    1, {5, 50}}
        };
	enum { NR = sizeof(names) / sizeof(names[0]) };
	struct report_diff d = {.nr_inputs = 2};
	struct report_diff_opts o = {
		.scales = {{.factor = 1}, {.factor = 1}}
        };
	static const uint64_t want[NR] = {50, 40, 30, 20, 10}; /* by what grew most */
	bool ok = true;

	for (uint32_t input = 0; input < 2; input++) {
		for (size_t i = 0; i < NR; i++) {
			struct report_diff_count c = {names[i].nr[input], names[i].nr[input]};

			ok &= report_diff_add(&d, input, names[i].name, names[i].size, c);
		}
	}
	report_diff_finish(&d, &o);
	CHECK(ok && d.rows.nr == NR, "each is a row of its own: %zu", d.rows.nr);
	for (size_t i = 0; i < d.rows.nr; i++) {
		const struct report_diff_row *row = &d.rows.data[i];

		CHECK_EQ(report_diff_cell(&d, row, 0)->count.nr, want[i] / 10, "row %zu, A", i);
		CHECK_EQ(report_diff_cell(&d, row, 1)->count.nr, want[i], "row %zu, B", i);
	}
	CHECK_EQ(d.rows.data[3].name, 0, "the empty name has a row");
	report_diff_done(&d);

	d = (struct report_diff){.nr_inputs = 1};
	CHECK(report_diff_add(&d, 0, "", 0, (struct report_diff_count){1, 1}) &&
		      report_diff_add(&d, 0, "", 0, (struct report_diff_count){1, 1}) &&
		      d.rows.nr == 1 && d.cells.data[0].count.nr == 2,
	      "alone, and twice");
	report_diff_done(&d);
}

static bool try_all(void)
{
	static const struct side sides[] = {{.rows = "a1 b2 c3 d4"}, {.rows = "e1 f2 a3"}};
	struct report_diff_files f = {0};
	struct report_diff_opts o = {0};
	struct report_diff d;
	bool ok = make(&d, REPORT_DIFF_SHARE, &o, sides, 2) && report_diff_file(&f, "a", 1, "b");

	report_diff_files_done(&f);
	report_diff_done(&d);
	return ok;
}

static void test_memory(void)
{
	uint64_t n = 0;
	bool ok;

	do {
		mem_fail_after(n++);
		ok = try_all();
	} while (!ok && n < 1000);
	mem_fail_after(UINT64_MAX);
	CHECK(ok && n > 3, "each allocation may fail: %d", (int)n);
}

int main(void)
{
	test_functions();
	test_files();
	test_root();
	test_rows();
	test_refused();
	test_error();
	test_above();
	test_budget();
	test_odd_names();
	test_memory();
	return tap_done();
}
