/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/diff_feed.h"

#include "format/report/diff_json.h"
#include "unit/report_events.h"

/* clang-format off */
static const struct made_event before[] = {
	{"sh",       1, 1, 0, 10, "ma"},
	{"sh",       1, 1, 0, 10, "mS"},
	{"sh",       1, 1, 0, 10, "m?"},
	{"a\033[2J", 2, 2, 0, 10, "mb"},
	{"sh",       1, 1, 0, 5,  "ma", 1},
};
static const struct made_event after[] = {
	{"sh", 8, 8, 0, 10, "mc"},
	{"sh", 8, 8, 0, 10, "ma"},
	{"sh", 8, 8, 0, 10, "mS"},
	{"sh", 8, 8, 0, 10, "mS"},
	{"sh", 8, 8, 0, 5,  "ma", 1},
};
/* clang-format on */

static const struct diff_input inputs[] = {
	{"old\n.data", 3},
	{"new.data",   0},
};

static enum clew_err take(struct diff_feed *d, uint32_t input, struct made *m, const char *sort,
			  const char *symbols)
{
	struct report_feed *f = made_report(
		m, sort, (struct report_feed_opts){.no_chains = true, .symbols = symbols});
	struct clew_perf_ns from = {1000000000}, to = {3000000000 + 1000000000ull * input};
	enum clew_err err = f ? diff_feed_take(d, input, f, NULL, from, to) : CLEW_NO_MEMORY;

	report_feed_free(f);
	return err;
}

static struct diff_doubt compare(struct diff_feed *d, struct diff_feed_opts *o, const char *sort,
				 struct made m[2], const char *symbols)
{
	const char *bad;
	size_t len;

	report_sort_parse(&o->sort, sort, &bad, &len);
	diff_feed_init(d, o, 2);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(take(d, i, &m[i], sort, symbols), CLEW_OK, "recording %d is taken",
			 (int)i);
	return diff_feed_finish(d);
}

struct text_row {
	const char *what, *sort, *symbols;
	struct diff_feed_opts opts;
	struct diff_text_opts text;
	const char *want; /* of the first table, from the titles on */
};

/* clang-format off */
static const struct text_row texts[] = {
	{"columns", "comm,dso,sym", NULL, {.is_exact = false}, {.separator = NULL},
	 "#       A          B      Delta     Ratio  Command   Shared Object      Symbol\n"
	 "#........  .........  .........   .......  ........  .................  ................\n"
	 "#\n"
	 "   25.00%     50.00%    +25.00%~    2.000  sh        [kernel.kallsyms]  [k] fn_S\n"
	 "        -     25.00%    +25.00%~      new  sh        prog               [.] fn_c\n"
	 "   25.00%     25.00%      0.00%     1.000  sh        prog               [.] fn_a\n"
	 "   25.00%          -    -25.00%~     gone  a\\x1b[2J  prog               [.] fn_b\n"
	 "   25.00%          -    -25.00%~     gone  sh        prog               [.] [unresolved]\n"
	 "\n"},
	{"addresses, with --exact", "sym", NULL, {.is_exact = true}, {.separator = "|"},
	 "# A|B|Delta|Ratio|Symbol\n"
	 "-|25.00%|+25.00%|new|[.] fn_c\n"
	 "25.00%|50.00%|+25.00%|2.000|[k] fn_S\n"
	 "25.00%|25.00%|0.00%|1.000|[.] fn_a\n"
	 "25.00%|-|-25.00%|gone|[.] 0x00000000000003f4\n"
	 "25.00%|-|-25.00%|gone|[.] fn_b\n"
	 "\n"},
	{"some functions, of a reference that is not among them", "sym", "fn_S",
	 {.norm = REPORT_DIFF_REF, .ref = "fn_a", .diff.order = REPORT_DIFF_BY_WDIFF, .diff.weights = {1, 1}}, {.separator = "|"},
	 "# A|B|Delta|Ratio|Weighted|Symbol\n"
	 "100.00%|200.00%|+100.00%|2.000|+10.00|[k] fn_S\n"
	 "\n"},
	{"per second, in colour, on a narrow terminal", "sym", "fn_S,fn_c", {.norm = REPORT_DIFF_TIME}, {.is_colored = true, .columns = 68},
	 "#             A                B            Delta     Ratio  Symbol\n"
	 "#..............  ...............  ...............   .......  .......\n"
	 "#\n"
	 "\033[2m              -             3.33            +3.33~      new  [.] ...\033[m\n"
	 "\033[2m           5.00             6.67            +1.67~    1.333  [k] ...\033[m\n"
	 "\n"},
};
/* clang-format on */

static void one_text(const struct text_row *r, struct made m[2])
{
	struct diff_feed_opts o = r->opts;
	struct diff_feed d;
	struct diff_doubt doubt = compare(&d, &o, r->sort, m, r->symbols);
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out};
	const char *from;

	CHECK_EQ(doubt.fault, DIFF_FITS, "%s: can be compared", r->what);
	CHECK_EQ(d.tables.nr, 2, "%s: a table for each event", r->what);
	CHECK_EQ(diff_text_table(&d, d.tables.data[0], inputs, &r->text, &sink), CLEW_OK,
		 "%s: is written", r->what);
	from = strstr(buf_cstr(&out), "#\n");
	CHECK_STR(from ? from + 2 : "", r->want, "%s", r->what);
	buf_done(&out);
	diff_feed_done(&d);
}

static void test_head(struct made m[2])
{
	static const char head[] =
		"# A: old\\x0a.data: 4 samples of event 'cycles', total 40, 3 lost: 100.00%\n"
		"# B: new.data: 4 samples of event 'cycles', total 40: 100.00%\n"
		"# Values (--normalize share): shares of the recording's total, ";
	struct diff_feed_opts o = {0};
	struct diff_feed d;
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out};
	const struct diff_text_opts text = {0};

	compare(&d, &o, "sym", m, NULL);
	diff_text_table(&d, d.tables.data[0], inputs, &text, &sink);
	out.nr = out.nr < sizeof(head) ? out.nr : sizeof(head) - 1;
	CHECK_STR(buf_cstr(&out), head, "the head has both totals");
	buf_done(&out);
	diff_feed_done(&d);
}

static void test_json(struct made m[2])
{
	struct diff_feed_opts o = {0};
	struct diff_feed d;
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out};

	compare(&d, &o, "pid,sym", m, "fn_b");
	CHECK_EQ(diff_json(&d, inputs, &sink), CLEW_OK, "a document");
	/* clang-format off */
	CHECK_STR(buf_cstr(&out),
		"{\"format\":\"clew-diff\",\"version\":1,\"normalize\":\"share\","
		"\"inputs\":[{\"path\":\"old\\n.data\",\"lost\":3,\"ns\":2000000000},{\"path\":\"new.data\",\"lost\":0,\"ns\":3000000000}],"
		"\"sort\":[\"pid\",\"sym\"],\"tables\":[{\"events\":["
		"{\"event\":\"cycles\",\"unit\":null,\"samples\":4,\"period\":40,\"kept_samples\":4,\"kept_period\":40,\"value\":100},"
		"{\"event\":\"cycles\",\"unit\":null,\"samples\":4,\"period\":40,\"kept_samples\":4,\"kept_period\":40,\"value\":100}],"
		"\"hidden_rows\":0,\"rows\":[{\"pid\":2,\"sym\":\"fn_b\",\"level\":\".\",\"values\":["
		"{\"samples\":1,\"period\":10,\"value\":25},"
		"{\"samples\":0,\"period\":0,\"value\":0,\"state\":\"gone\",\"delta\":-25,\"error\":21.650635094611,"
		"\"significant\":false,\"ratio\":null}]}\n]},"
		"{\"events\":[{\"event\":\"faults\",\"unit\":null,\"samples\":1,\"period\":5,\"kept_samples\":1,\"kept_period\":5,\"value\":100},"
		"{\"event\":\"faults\",\"unit\":null,\"samples\":1,\"period\":5,\"kept_samples\":1,\"kept_period\":5,\"value\":100}],"
		"\"hidden_rows\":0,\"rows\":[]}]}\n",
		"every field");
	/* clang-format on */
	buf_done(&out);
	diff_feed_done(&d);
}

/* Of each pair of names and units. */
static void test_doubts(struct made m[2])
{
	struct diff_feed_opts o = {0};
	struct diff_feed d;
	struct diff_doubt doubt;

	m[1].evsels[0].name = "instructions";
	doubt = compare(&d, &o, "sym", m, NULL);
	CHECK_EQ(doubt.fault, DIFF_OTHER_EVENT, "different events are not compared");
	CHECK_STR(doubt.event, "cycles", "the one is named");
	CHECK_STR(doubt.other_event, "instructions", "and the other");
	diff_feed_done(&d);
	o.is_forced = true;
	doubt = compare(&d, &o, "sym", m, NULL);
	CHECK_EQ(doubt.fault, DIFF_FITS, "but with --force");
	CHECK_EQ(d.tables.nr, 2, "in their order");
	CHECK_STR(d.tables.data[0]->events[1].name, "instructions", "each with its name");
	diff_feed_done(&d);
	o.is_forced = false;
	m[1].evsels[0].name = "cycles";
	m[1].evsels[0].unit = "Joules";
	doubt = compare(&d, &o, "sym", m, NULL);
	CHECK_EQ(doubt.fault, DIFF_OTHER_UNIT, "nor are units");
	diff_feed_done(&d);
	m[1].evsels[0].unit = NULL;
	o.norm = REPORT_DIFF_CPU;
	doubt = compare(&d, &o, "sym", m, NULL);
	CHECK_EQ(doubt.fault, DIFF_NO_CPU_TIME, "CPU time is not counted");
	diff_feed_done(&d);
	o.norm = REPORT_DIFF_REF;
	o.ref = "fn_b";
	doubt = compare(&d, &o, "sym", m, NULL);
	CHECK_EQ(doubt.fault, DIFF_NO_REF, "the reference is missing");
	CHECK_EQ(doubt.input, 1, "in the second recording");
	diff_feed_done(&d);
}

static void test_memory(struct made m[2])
{
	struct report_feed_opts feed = {.no_chains = true};
	struct report_feed *f = made_report(&m[0], "comm,sym", feed);
	struct diff_feed_opts o = {.sort = *report_feed_sort(f)};
	struct clew_perf_ns none = clew_perf_ns_none();
	enum clew_err err;
	uint64_t n = 0;

	do {
		struct diff_feed d;

		diff_feed_init(&d, &o, 2);
		mem_fail_after(n++);
		err = diff_feed_take(&d, 0, f, NULL, none, none);
		mem_fail_after(UINT64_MAX);
		diff_feed_done(&d);
	} while (err == CLEW_NO_MEMORY && n < 1000);
	CHECK(err == CLEW_OK && n > 10, "each allocation may fail: %d", (int)n);
	report_feed_free(f);
}

int main(void)
{
	struct made m[2];

	made_init(&m[0], before, sizeof(before) / sizeof(before[0]), 0);
	made_init(&m[1], after, sizeof(after) / sizeof(after[0]), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		one_text(&texts[i], m);
	test_head(m);
	test_json(m);
	test_doubts(m);
	test_memory(m);
	made_done(&m[0]);
	made_done(&m[1]);
	return tap_done();
}
