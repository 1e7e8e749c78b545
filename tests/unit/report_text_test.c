/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_text.h"

#include "unit/report_events.h"

/* clang-format off */
static const struct made_event events[] = {
	{"sh",   1, 1, 0, 10, "mabS"},
	{"sh",   1, 2, 1, 10, "mab"},
	{"sh",   1, 1, 0, 10, "mab"},
	{"cron", 9, 9, 1, 10, "m?"},
	{"sh",   1, 1, 0, 10, "mcc"},
	{"sh",   1, 1, 0, 10, "!"},
	{"sh",   1, 1, 0, 20, "ma"},
	{"sh",   1, 1, 0, 20, NULL},
	{"cron", 9, 9, 1, 5,  "m", 1},
};
/* clang-format on */
enum { NR_EVENTS = sizeof(events) / sizeof(events[0]) };

struct text_row {
	const char *what, *sort;
	struct report_feed_opts feed;
	struct report_table_opts table;
	struct report_text_opts text;
	const char *want; /* without the head; "..." is not compared further */
};

/* clang-format off */
static const struct text_row rows[] = {
	{"columns and graphs", "comm,sym", {.symbols = "fn_m,fn_S"}, {.by_total = true, .has_graphs = true},
	 {.style = REPORT_GRAPH_TREE, .by_total = true, .has_nr = true},
	 "    60.00%     0.00%             0  sh       [.] fn_m\n"
	 "            |\n"
	 "            ---fn_m\n"
	 "               |--50.00%--fn_a\n"
	 "               |          '--30.00%--fn_b\n"
	 "               |                     '--10.00%--fn_S\n"
	 "               '--10.00%--fn_c\n"
	 "                          fn_c\n"
	 "\n"
	 "    10.00%     0.00%             0  cron     [.] fn_m\n"
	 "            |\n"
	 "            ---fn_m\n"
	 "               0x3f4\n"
	 "\n"
	 "    10.00%    10.00%             1  sh       [k] fn_S\n"
	 "            |\n"
	 "            ---fn_m\n"
	 "               fn_a\n"
	 "               fn_b\n"
	 "               fn_S\n"
	 "\n"},
	{"callees first", "sym", {.symbols = "fn_a"}, {.has_graphs = true, .graph = {.is_callee = true}},
	 {.style = REPORT_GRAPH_TREE},
	 "    20.00%  [.] fn_a\n"
	 "            |\n"
	 "            ---fn_a\n"
	 "               fn_m\n"
	 "\n"},
	{"a single branch that loses less than the limit is no fork", "sym", {.symbols = "fn_m"},
	 {.by_total = true, .has_graphs = true, .graph = {.min_share = 0.21}},
	 {.style = REPORT_GRAPH_TREE, .by_total = true, .min_share = 0.21},
	 "    70.00%     0.00%  [.] fn_m\n"
	 "            |\n"
	 "            ---fn_m\n"
	 "               fn_a\n"
	 "               fn_b\n"
	 "\n"},
	{"flat", "sym", {.symbols = "fn_a"}, {.has_graphs = true, .graph = {.is_callee = true}},
	 {.style = REPORT_GRAPH_FLAT},
	 "    20.00%  [.] fn_a\n"
	 "           20.00%\n"
	 "                fn_a\n"
	 "                fn_m\n"
	 "\n"},
	{"folded graphs with periods", "sym", {.symbols = "fn_a"}, {.has_graphs = true},
	 {.style = REPORT_GRAPH_FOLDED, .has_periods = true},
	 "    20.00%  [.] fn_a\n"
	 "20 fn_m;fn_a\n"},
	{"separator", "comm,dso,sym", {.symbols = "fn_S"}, {.by_total = true},
	 {.by_total = true, .separator = ",", .has_nr = true, .has_period = true},
	 "10.00%,10.00%,1,10,sh,[kernel.kallsyms],[k] fn_S\n"},
	{"no symbol", "dso,sym", {.dsos = "[unknown],prog", .symbol_part = NULL}, {.min_share = 0.2},
	 {.style = REPORT_GRAPH_NONE},
	 "    20.00%  prog           [.] fn_a\n"
	 "    20.00%  prog           [.] fn_b\n"
	 "    20.00%  [unknown]      [!] 0x0000000000000000\n"},
	{"threads and processes", "tid,pid", {.dsos = NULL}, {0}, {0},
	 "    80.00%        1:sh          1:sh\n"
	 "    10.00%        2:sh          1:sh\n"
	 "    10.00%        9:cron        9:cron\n"},
	{"CPUs", "cpu", {.dsos = NULL}, {0}, {0}, "    80.00%  000\n    20.00%  001\n"},
	{"only some threads, of all", "comm", {.filter = {.comms = "cron"}}, {0}, {0}, "    10.00%  cron\n"},
	{"of those", "comm", {.filter = {.comms = "cron"}}, {.is_relative_total = true}, {0}, "   100.00%  cron\n"},
	{"only what a name contains", "sym", {.symbol_part = "_c"}, {0}, {0}, "    10.00%  [.] fn_c\n"},
	{"innermost frames", "sym", {.max_stack = 1, .symbols = "fn_m,fn_b"}, {.by_total = true}, {.by_total = true},
	 "    20.00%    20.00%  [.] fn_b\n"},
	{"outermost frames", "sym", {.max_stack = 1, .keeps_outermost = true, .symbols = "fn_m,fn_a,fn_b"},
	 {.by_total = true}, {.by_total = true},
	 "    70.00%     0.00%  [.] fn_m\n"
	 "    20.00%    20.00%  [.] fn_a\n"
	 "    20.00%    20.00%  [.] fn_b\n"},
	{"no unresolved samples", "sym", {.hide_unresolved = true, .symbols = "fn_c"}, {0}, {0},
	 "    16.67%  [.] fn_c\n"},
	{"a narrow line: the last column is cut, then the widest", "comm,dso,sym", {.symbols = "fn_S"}, {0},
	 {.columns = 32},
	 "    10.00%  sh     [ke...  [k...\n"},
	{"widths that were asked for, numbers' too", "comm,dso,sym", {.symbols = "fn_S"}, {0}, {.widths = {0, 0, 6, 5}},
	 "    10.00%  sh       [ke...  [k...\n"},
	{"one column of a mark", "comm,dso,sym", {.symbols = "fn_S"}, {0}, {.columns = 34, .cut_mark = "\u2026"},
	 "    10.00%  sh      [kern\u2026  [k] f\u2026\n"},
	{"a line that fits is not cut", "comm,sym", {.symbols = "fn_S"}, {0}, {.columns = 29},
	 "    10.00%  sh       [k] fn_S\n"},
	{"no room for any text, a colour", "sym", {.symbols = "fn_S"}, {0}, {.columns = 8, .is_colored = true},
	 "    \033[31m1...\033[m\n"},
	{"narrow call graphs are indented less", "sym", {.symbols = "fn_m"}, {.by_total = true, .has_graphs = true},
	 {.style = REPORT_GRAPH_TREE, .by_total = true, .columns = 50},
	 "    70.00%     0.00%  [.] fn_m\n"
	 "            |\n"
	 "            ---fn_m\n"
	 "               |--50.00%--fn_a\n"
	 "               |    '--30.00%--fn_b\n"
	 "               |         '--10.00%--fn_S\n"
	 "               |--10.00%--fn_c\n"
	 "               |    fn_c\n"
	 "               '--10.00%--0x3f4\n"
	 "\n"},
	{"and cut", "sym", {.symbols = "fn_m"}, {.by_total = true, .has_graphs = true},
	 {.style = REPORT_GRAPH_TREE, .by_total = true, .columns = 27, .cut_mark = "\u2026"},
	 "    70.00%     0.00%  [.] \u2026\n"
	 "            |\n"
	 "            ---fn_m\n"
	 "               |--50.00%--\u2026\n"
	 "               | '--30.00%\u2026\n"
	 "               |   '--10.0\u2026\n"
	 "               |--10.00%--\u2026\n"
	 "               | fn_c\n"
	 "               '--10.00%--\u2026\n"
	 "\n"},
	{"flat graphs too", "sym", {.symbols = "fn_a"}, {.has_graphs = true, .graph = {.is_callee = true}},
	 {.style = REPORT_GRAPH_FLAT, .columns = 19},
	 "    20.00%  [.] ...\n"
	 "           20.00%\n"
	 "                ...\n"
	 "                ...\n"
	 "\n"},
	{"folded ones as well", "sym", {.symbols = "fn_a"}, {.has_graphs = true},
	 {.style = REPORT_GRAPH_FOLDED, .has_periods = true, .columns = 11},
	 "    20.0...\n"
	 "20 fn_m;...\n"},
	{"with a separator, nothing is cut", "dso,sym", {.symbols = "fn_S"}, {0},
	 {.separator = ",", .columns = 10, .widths = {0, 3}},
	 "10.00%,[kernel.kallsyms],[k] fn_S\n"},
	{"colours", "sym", {.symbols = "fn_S"}, {0}, {.is_colored = true}, "    \033[31m10.00%\033[m  [k] fn_S\n"},
};
/* clang-format on */

/* The text after the head. */
static const char *body(struct buf *out)
{
	const char *s = buf_cstr(out);

	while (*s == '#') {
		s = strchr(s, '\n');
		if (!s)
			return "";
		s++;
	}
	return s;
}

static void one(struct made *m, const struct text_row *r)
{
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out};
	struct report_feed *f = made_report(m, r->sort, r->feed);
	size_t event = 0;
	struct report_table t;
	struct buf want = {0};

	CHECK_EQ(report_table_make(f, &event, 1, &r->table, &t), CLEW_OK, "%s: table", r->what);
	report_text_table(f, &t, &r->text, &sink);
	buf_printf(&want, "%s\n", r->want);
	CHECK_STR(body(&out), buf_cstr(&want), "%s", r->what);
	buf_done(&want);
	report_table_done(&t);
	report_feed_free(f);
	buf_done(&out);
}

static void folded(struct made *m)
{
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out};
	struct report_feed *f = made_report(m, "comm", (struct report_feed_opts){.dsos = NULL});

	report_text_folded(f, 1, false, &sink);
	report_text_folded(f, 1, true, &sink);
	CHECK_STR(buf_cstr(&out), "cron;fn_m 1\ncron;fn_m 5\n", "folded by samples and by period");
	report_feed_free(f);
	buf_done(&out);
}

/* A group's events side by side. */
static void group(struct made *m)
{
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out};
	struct report_feed *f = made_report(m, "comm", (struct report_feed_opts){.dsos = NULL});
	const struct report_table_opts opts = {.has_graphs = false};
	const struct report_text_opts text = {.style = REPORT_GRAPH_NONE};
	const size_t events_of[] = {0, 1};
	struct report_table t;

	report_table_make(f, events_of, 2, &opts, &t);
	report_text_table(f, &t, &text, &sink);
	CHECK_STR(body(&out), "    90.00%     0.00%  sh\n    10.00%   100.00%  cron\n\n",
		  "two events");
	report_table_done(&t);
	report_feed_free(f);
	buf_done(&out);
}

int main(void)
{
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		one(&m, &rows[i]);
	folded(&m);
	group(&m);
	made_done(&m);
	return tap_done();
}
