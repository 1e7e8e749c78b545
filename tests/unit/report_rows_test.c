/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_rows.h"

#include "unit/report_paths.h"

static const struct row {
	const char *what, *paths;
	bool by_total, folds_case;
	const char *rows;
} rows[] = {
	{"nothing",			     "",               true,  false, ""                       },
	{"one frame",			   "m 3",            true,  false, "m3/3"                   },
	{"a chain",			     "mab 2",          true,  false, "m2/0 a2/0 b2/2"         },
	{"a fork",			      "mab 2 mac 3",    true,  false, "m5/0 a5/0 c3/3 b2/2"    },
	{"a frame that is leaf and caller",     "mab 2 ma 3",     true,  false, "m5/0 a5/3 b2/2"         },
	{"recursion counts a sample once",      "maaa 4 ma 1",    true,  false, "m5/0 a5/5"              },
	{"recursion by way of another",         "mabab 4",        true,  false, "m4/0 a4/0 b4/4"         },
	{"the same function below two callers", "mxf 1 myf 2",    true,  false, "m3/0 f3/3 y2/0 x1/0"    },
	{"keys are apart",                      "1mf 2 2mf 3",    true,  false, "2m3/0 2f3/3 1m2/0 1f2/2"},
	{"ties go by key, then group",          "2b 1 1b 1 1a 1", true,  false, "1a1/1 1b1/1 2b1/1"      },
	{"by self",			     "mab 2 ma 3",     false, false, "a5/3 b2/2 m5/0"         },
	{"frames of one group",                 "mFfg 2 mF 1",    true,  true,  "m3/0 f3/1 g2/2"         },
	{"an empty path has no row",            " 5 m 1",         true,  false, "m1/1"                   },
};

static void one(const struct row *r)
{
	struct buf out = {0};
	struct paths p;

	paths_init(&p, r->paths, r->folds_case);
	paths_rows(&p, r->by_total, &out);
	CHECK_STR(buf_cstr(&out), r->rows, "%s", r->what);
	buf_done(&out);
	paths_done(&p);
}

/* Two events side by side: a row that only one has shows 0 for the other. */
static void two_events(void)
{
	struct report_weights second = {0};
	const struct report_weights *both[2];
	struct paths p;
	uint32_t node;

	paths_init(&p, "mf 3", false);
	report_pass_done(&p.pass);
	report_tree_child(&p.tree, REPORT_ROOT, 'x', &node);
	report_weights_add(&second, &p.tree, 0, node, 7, 70);
	report_pass_init(&p.pass, &p.tree, p.group_of, NR_FRAMES);
	both[0] = &p.weights;
	both[1] = &second;
	CHECK_EQ(report_rows_make(&p.rows, &p.pass, both, 2, &p.grouping, true), CLEW_OK,
		 "rows of two events");
	CHECK_EQ(p.rows.rows.nr, 3, "are of both");
	CHECK_EQ(p.rows.rows.data[2].group, 'x', "the first event orders them");
	CHECK_EQ(report_row_value(&p.rows, &p.rows.rows.data[2], 0)->total, 0, "none of the first");
	CHECK_EQ(report_row_value(&p.rows, &p.rows.rows.data[2], 1)->nr, 7, "all of the second");
	CHECK_EQ(report_row_value(&p.rows, &p.rows.rows.data[0], 1)->total, 0,
		 "none of the second");
	report_weights_done(&second);
	paths_done(&p);
}

static void full_tree(void)
{
	struct report_tree t;
	uint32_t node = REPORT_ROOT;

	report_tree_init(&t, 3);
	CHECK_EQ(report_tree_child(&t, node, 'a', &node), CLEW_OK, "a tree of three: first frame");
	CHECK_EQ(report_tree_child(&t, node, 'b', &node), CLEW_OK, "a second node has room");
	CHECK_EQ(report_tree_child(&t, node, 'c', &node), CLEW_LIMIT, "a third is over the limit");
	CHECK_EQ(node, 2, "the result is untouched");
	CHECK_EQ(report_tree_child(&t, 1, 'b', &node), CLEW_OK, "what is there is still found");
	report_tree_done(&t);
}

/* Each allocation fails once; nothing leaks or crashes (sanitizers say). */
static void no_memory(void)
{
	uint64_t n = 0;
	bool has_failed;

	do {
		struct report_tree t = {0};
		struct report_weights w = {0};
		struct report_pass pass = {0};
		struct report_rows r = {0};
		struct paths p;
		const struct report_weights *weights = &w;
		uint32_t node = REPORT_ROOT;
		enum clew_err err;

		paths_init(&p, "", false);
		mem_fail_after(n++);
		err = report_tree_init(&t, 0);
		for (uint32_t i = 0; err == CLEW_OK && i < 700; i++)
			err = report_tree_child(&t, i % 9 ? node : REPORT_ROOT, i % NR_FRAMES,
						&node);
		for (uint32_t i = 0; err == CLEW_OK && i < 700; i++)
			err = report_weights_add(&w, &t, i % NR_FRAMES,
						 1 + i % (uint32_t)(t.nodes.nr - 1), 1, 1);
		if (err == CLEW_OK)
			err = report_pass_init(&pass, &t, p.group_of, NR_FRAMES);
		if (err == CLEW_OK)
			err = report_rows_make(&r, &pass, &weights, 1, &p.grouping, true);
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		if (has_failed && err != CLEW_NO_MEMORY) {
			CHECK_EQ(err, CLEW_NO_MEMORY, "allocation %d fails", (int)n);
			has_failed = false;
		}
		report_rows_done(&r);
		report_pass_done(&pass);
		report_weights_done(&w);
		report_tree_done(&t);
		paths_done(&p);
	} while (has_failed);
	CHECK(n > 10, "every allocation may fail");
}

/* Walking from each frame to its outermost caller would take minutes. */
static void many_deep(void)
{
	const struct report_weights *weights;
	struct paths p;
	char path[400];

	paths_init(&p, "", false);
	report_pass_done(&p.pass);
	for (uint32_t i = 0; i < 6000; i++) {
		for (size_t j = 0; j < sizeof(path); j++)
			path[j] = (char)('A' + (j < 4 ? i >> 4 * j & 15 : j % 16 + 16));
		paths_add(&p, 0, path, sizeof(path), 1);
	}
	report_weights_sort(&p.weights);
	report_pass_init(&p.pass, &p.tree, p.group_of, NR_FRAMES);
	weights = &p.weights;
	report_rows_make(&p.rows, &p.pass, &weights, 1, &p.grouping, true);
	CHECK_EQ(report_row_value(&p.rows, &p.rows.rows.data[0], 0)->total, 6000 * PERIOD,
		 "%zu frames in deep paths", p.tree.nodes.nr);
	paths_done(&p);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		one(&rows[i]);
	two_events();
	many_deep();
	full_tree();
	no_memory();
	return tap_done();
}
