/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_text.h"
#include "rows/report_feed_impl.h"
#include "top/top_select.h"
#include "unit/report_events.h"

/* clang-format off */
static const struct made_event events[] = {
	{"sh",   1, 1, 0, 1000, "mabS"},
	{"sh",   1, 2, 1, 1000, "mab"},
	{"cron", 9, 9, 1, 1000, "m?"},
	{"sh",   1, 1, 0, 2000, "ma"},
	{"sh",   1, 1, 0, 10,   "mz"},
	{"sh",   1, 1, 0, 7000, "x", 1},
};
/* clang-format on */
enum { NR_EVENTS = sizeof(events) / sizeof(events[0]) };

static struct perf_evlist evlist;

static void text_of(struct report_feed *f, size_t event, bool has_graphs, struct buf *out)
{
	const struct report_table_opts opts = {.by_total = true, .has_graphs = has_graphs};
	const struct report_text_opts text = {.by_total = true,
					      .has_nr = true,
					      .has_period = true,
					      .style = has_graphs ? REPORT_GRAPH_TREE
								  : REPORT_GRAPH_NONE};
	const struct clew_sink sink = {made_write, out};
	struct report_table t;

	buf_clear(out);
	if (report_table_make(f, &event, 1, &opts, &t) != CLEW_OK)
		return;
	report_text_table(f, &t, &text, &sink);
	report_table_done(&t);
}

static struct report_feed *new_feed(const char *sort)
{
	struct report_feed_opts opts = {.max_stack = 0};
	struct report_feed *f = NULL;
	const char *bad;
	size_t len;

	report_sort_parse(&opts.sort, sort, &bad, &len);
	report_feed_new(&f, &opts, NULL);
	return f;
}

/* What is carried is what was counted, also when the recording's names are gone. */
static void same(const char *sort)
{
	const struct report_carry how = {.factor = 1, .events = &evlist};
	struct buf want = {0}, got = {0};
	struct report_feed *f, *to = new_feed(sort);
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	f = made_report(&m, sort, (struct report_feed_opts){.max_stack = 0});
	for (size_t event = 0; event < 2; event++) {
		struct report_feed *next = new_feed(sort);

		text_of(f, event, true, &want);
		CHECK(report_feed_carry(next, f, &how) == CLEW_OK, "%s: carried", sort);
		report_feed_finish(next);
		text_of(next, event, true, &got);
		CHECK_STR(buf_cstr(&got), buf_cstr(&want), "%s: the same table of event %d", sort,
			  (int)event);
		report_feed_free(next);
	}
	report_feed_carry(to, f, &how);
	text_of(f, 0, true, &want);
	report_feed_free(f);
	memset(m.names, 'X', sizeof(m.names));
	memset(m.syms, 0xff, sizeof(m.syms));
	made_done(&m);
	report_feed_finish(to);
	text_of(to, 0, true, &got);
	CHECK_STR(buf_cstr(&got), buf_cstr(&want), "%s: its names are its own", sort);
	report_feed_free(to);
	buf_done(&want);
	buf_done(&got);
}

static uint64_t period_of(const struct report_feed *f, size_t event)
{
	uint64_t sum = 0;

	vec_for_each (&report_feed_event(f, event)->weights.all, w)
		sum += w->period;
	return sum;
}

static void fades(void)
{
	const struct report_carry whole = {.factor = 1, .events = &evlist};
	const struct report_carry faded = {.factor = 0.5, .min_share = 0.01, .events = &evlist};
	struct report_feed *f, *next = new_feed("sym");
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	f = made_report(&m, "sym", (struct report_feed_opts){.max_stack = 0});
	report_feed_carry(next, f, &faded);
	CHECK(report_feed_event(next, 0)->period == 2505 &&
		      report_feed_event(next, 1)->period == 3500,
	      "totals fade");
	CHECK(period_of(next, 0) == 2500, "what is small is dropped: %d", (int)period_of(next, 0));
	CHECK(next->tree.nodes.nr < f->tree.nodes.nr, "and its path");
	report_feed_carry(next, f, &whole);
	CHECK(period_of(next, 0) == 2500 + 5010 && next->tree.nodes.nr == f->tree.nodes.nr,
	      "one function is one frame, whatever it was carried of");
	report_feed_finish(next);
	report_feed_free(next);
	report_feed_free(f);
	made_done(&m);
}

/* Nothing is left in the end, so that memory is bounded. */
static void ends(void)
{
	const struct report_carry how = {.factor = 0.9, .events = &evlist};
	struct report_feed *f;
	struct made m;
	int nr = 0;

	made_init(&m, events, NR_EVENTS, 0);
	f = made_report(&m, "comm,sym", (struct report_feed_opts){.max_stack = 0});
	while (f->frames.all.nr && nr < 200) {
		struct report_feed *next = new_feed("comm,sym");

		report_feed_carry(next, f, &how);
		report_feed_finish(next);
		report_feed_free(f);
		f = next;
		nr++;
	}
	CHECK(nr > 10 && nr < 200 && f->frames.all.nr == 0 && f->tree.nodes.nr == 1,
	      "without new samples all is gone after %d refreshes", nr);
	report_feed_free(f);
	made_done(&m);
}

static void selects(void)
{
	static const struct {
		struct top_select s;
		size_t want;
		const char *what;
	} rows[] = {
		{{.max_rows = 0},        6, "all"                     },
		{{.hides_kernel = true}, 5, "without the kernel"      },
		{{.hides_user = true},   1, "without user space"      },
		{{.min_samples = 2},     0, "functions of two samples"},
		{{.max_rows = 3},        3, "three rows"              },
	};
	struct report_feed *f;
	struct made m;
	size_t event = 0;

	made_init(&m, events, NR_EVENTS, 0);
	f = made_report(&m, "sym", (struct report_feed_opts){.max_stack = 0});
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct report_table_opts opts = {.by_total = true};
		struct report_table t;

		report_table_make(f, &event, 1, &opts, &t);
		CHECK(top_select_rows(f, &t, &rows[i].s) == CLEW_OK && t.nr_shown == rows[i].want &&
			      t.rows.rows.nr == 6,
		      "%s: %d rows", rows[i].what, (int)t.nr_shown);
		report_table_done(&t);
	}
	report_feed_free(f);
	made_done(&m);
}

int main(void)
{
	static const char *const names[] = {"cycles", "faults"};

	for (size_t i = 0; i < 2; i++) {
		const struct perf_attr attr = {.sample_type =
						       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IP};

		perf_evlist_add(&evlist, &attr, names[i], NULL, 0, false);
	}
	same("comm,dso,sym");
	same("pid,sym");
	same("tid,cpu,sym");
	same("dso");
	same("sym,srcline");
	fades();
	ends();
	selects();
	perf_evlist_done(&evlist);
	return tap_done();
}
