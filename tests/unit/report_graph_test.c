/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_graph.h"

#include "unit/report_paths.h"

/* The graph of one row as "a5(b3!1 c2)": frame and samples through it; !: samples that end there.
 */
static const struct row {
	const char *what, *paths;
	char group;
	struct report_graph_opts opts;
	const char *graph;
} rows[] = {
	{"callers first: a leaf's whole path",
	 "mab 2",								'b',
	 {.is_cumulative = true},
	 "m2(a2(b2!2))"											      },
	{"callers first: what a caller calls",
	 "mab 2 mac 3 mx 9",						     'a',
	 {.is_cumulative = true},
	 "a5(c3!3 b2!2)"											     },
	{"callers first: own samples and called ones",
	 "mab 2 ma 3",							   'a',
	 {.is_cumulative = true},
	 "m3(a3!3) a2(b2!2)"											 },
	{"callers first: recursion starts at the outermost",
	 "maab 4",							       'a',
	 {.is_cumulative = true},
	 "a4(a4(b4!4))"											      },
	{"callers first: recursion that ends in itself",
	 "maa 4 mab 1",							  'a',
	 {.is_cumulative = true},
	 "m4(a4(a4!4)) a1(b1!1)"										     },
	{"callers first: two callers",
	 "mxf 1 myf 2",							  'f',
	 {.is_cumulative = true},
	 "m3(y2(f2!2) x1(f1!1))"										     },
	{"callers first: self alone",                        "mab 2 ma 3",       'a', {0},                 "m3(a3!3)"},
	{"callees first: a leaf's callers",
	 "mab 2 nab 1",							  'b',
	 {.is_callee = true},
	 "b3(a3(m2!2 n1!1))"											 },
	{"callees first: self alone",                        "mab 2 ma 3",       'a', {.is_callee = true}, "a3(m3!3)"},
	{"callees first: on the way too",
	 "mab 2 ma 3",							   'a',
	 {.is_callee = true, .is_cumulative = true},
	 "a5(m5!5)"												  },
	{"callees first: recursion starts at the innermost",
	 "maab 4 ma 1",							  'a',
	 {.is_callee = true, .is_cumulative = true},
	 "a5(a4(m4!4) m1!1)"											 },
	{"equal branches go by rank",
	 "md 1 mc 1 mb 1",						       'm',
	 {.is_cumulative = true},
	 "m3(b1!1 c1!1 d1!1)"											},
	{"branches below the limit are left out",
	 "ma 50 mb 4 mc 46",						     'm',
	 {.is_cumulative = true, .min_share = 0.05},
	 "m100(a50!50 c46!46)"										       },
	{"a limit is inclusive",
	 "ma 95 mb 5",							   'm',
	 {.is_cumulative = true, .min_share = 0.05},
	 "m100(a95!95 b5!5)"											 },
	{"relative to the branch above",
	 "mab 1 mac 9 mx 90",						    'm',
	 {.is_cumulative = true, .min_share = 0.1, .is_relative = true},
	 "m100(x90!90 a10(c9!9 b1!1))"									       },
	{"absolute leaves them out",
	 "mab 1 mac 9 mx 90",						    'm',
	 {.is_cumulative = true, .min_share = 0.05},
	 "m100(x90!90 a10(c9!9))"										    },
	{"no deeper than so many frames, callees first",
	 "mabcd 1 mabxcd 2 mcd 3",					       'd',
	 {.is_callee = true, .is_cumulative = true, .max_depth = 2},
	 "d6(c6+4)"												  },
	{"no deeper than so many frames, callers first",
	 "mabcd 1 mabx 2 mc 3",						  'm',
	 {.is_cumulative = true, .max_depth = 2},
	 "m6(a3+3 c3!3)"											     },
	{"what is below the limit does not count as more",
	 "mabcd 1 ma 99",							'm',
	 {.is_cumulative = true, .min_share = 0.05, .max_depth = 2},
	 "m100(a100!99)"											     },
	{"a whole path ends at its row",                     "mabc 4 mabcdef 5", 'c', {.max_depth = 2},    "m4(a4+2)"},
	{"so many branches at a fork",
	 "ma 1 mb 2 mc 3",						       'm',
	 {.is_cumulative = true, .max_leaves = 2},
	 "m6(c3!3 b2!2)"											     },
};

static void put_graph(const struct paths *p, const struct report_row *row, struct buf *out)
{
	const struct report_graph *g;
	uint32_t depth = 0;

	if (row->graph == REPORT_NONE)
		return;
	g = &p->graphs.graphs.data[row->graph];
	for (size_t i = 0; i < g->nr; i++) {
		const struct report_graph_node *n = &p->graphs.nodes.data[g->first + i];

		if (i && n->depth > depth)
			buf_char(out, '(');
		else if (i)
			buf_fill(out, ')', depth - n->depth), buf_char(out, ' ');
		buf_printf(out, "%c%d", (char)n->frame, (int)(n->period / PERIOD));
		if (n->self)
			buf_printf(out, "!%d", (int)(n->self / PERIOD));
		if (n->nr_more)
			buf_printf(out, "+%u", n->nr_more);
		depth = n->depth;
	}
	buf_fill(out, ')', depth);
}

static void one(const struct row *r)
{
	struct report_graph_opts opts = r->opts;
	struct buf out = {0};
	struct paths p;

	paths_init(&p, r->paths, false);
	paths_rows(&p, opts.is_cumulative, &out);
	opts.total = p.total;
	CHECK_EQ(report_graphs_make(&p.graphs, &p.rows, p.rows.rows.nr, &p.pass, &p.weights,
				    &p.grouping, p.rank, &opts),
		 CLEW_OK, "%s", r->what);
	buf_clear(&out);
	vec_for_each (&p.rows.rows, row) {
		if (row->group == (uint8_t)r->group)
			put_graph(&p, row, &out);
	}
	CHECK_STR(buf_cstr(&out), r->graph, "%s", r->what);
	buf_done(&out);
	paths_done(&p);
}

/* Each key's rows get their own key's paths. */
static void keys(void)
{
	struct report_graph_opts opts = {.is_cumulative = true};
	struct buf out = {0};
	struct paths p;

	paths_init(&p, "1ma 1 2mb 2 3mc 3", false);
	paths_rows(&p, true, &out);
	opts.total = p.total;
	report_graphs_make(&p.graphs, &p.rows, p.rows.rows.nr, &p.pass, &p.weights, &p.grouping,
			   p.rank, &opts);
	buf_clear(&out);
	vec_for_each (&p.rows.rows, row) {
		if (row->group == 'm')
			put_graph(&p, row, &out);
	}
	CHECK_STR(buf_cstr(&out), "m3(c3!3)m2(b2!2)m1(a1!1)", "graphs of three keys");
	buf_done(&out);
	paths_done(&p);
}

/* No recursion over the data: a path of 8,000 frames, each of its rows with a graph. */
static void deep(void)
{
	struct report_graph_opts opts = {.is_cumulative = true, .min_share = 0.5};
	const struct report_weights *weights;
	struct paths p;
	char path[8000];

	paths_init(&p, "", false);
	report_pass_done(&p.pass);
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)('a' + i % 20);
	paths_add(&p, 0, path, sizeof(path), 1);
	report_weights_sort(&p.weights);
	report_pass_init(&p.pass, &p.tree, p.group_of, NR_FRAMES);
	weights = &p.weights;
	report_rows_make(&p.rows, &p.pass, &weights, 1, &p.grouping, true);
	opts.total = p.total;
	CHECK_EQ(report_graphs_make(&p.graphs, &p.rows, p.rows.rows.nr, &p.pass, weights,
				    &p.grouping, p.rank, &opts),
		 CLEW_OK, "a path of 8000 frames");
	CHECK_EQ(p.rows.rows.nr, 20, "of 20 functions");
	CHECK_EQ(p.rows.rows.data[0].graph == REPORT_NONE, 0, "has graphs");
	paths_done(&p);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		one(&rows[i]);
	keys();
	deep();
	return tap_done();
}
