/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed.h"

#include "unit/report_events.h"

/* clang-format off */
static const struct made_event events[] = {
	{"sh",   1, 1, 0, 10, "mabS"},
	{"sh",   1, 2, 1, 10, "mab"},
	{"cron", 9, 9, 1, 10, "m?"},
	{"sh",   1, 1, 0, 10, "mcc"},
	{"sh",   1, 1, 0, 20, "ma"},
	{"sh",   1, 1, 0, 20, NULL},
};
/* clang-format on */
enum { NR_EVENTS = sizeof(events) / sizeof(events[0]) };

static const struct report_feed_opts by_comm_sym = {
	.sort = {{REPORT_COMM, REPORT_SYM}, 2}
};

/* "comm|symbol total/self;" for every row. */
static void rows_of(struct report_feed *f, struct buf *out)
{
	const struct report_table_opts opts = {.by_total = true};
	struct report_table t;
	size_t event = 0;

	buf_clear(out);
	if (report_table_make(f, &event, 1, &opts, &t) != CLEW_OK)
		return;
	for (size_t i = 0; i < t.nr_shown; i++) {
		const struct report_row *row = &t.rows.rows.data[i];
		const struct report_value *v = report_row_value(&t.rows, row, 0);

		report_feed_row_text(f, row, REPORT_COMM, out);
		buf_char(out, '|');
		report_feed_row_text(f, row, REPORT_SYM, out);
		buf_printf(out, " %d/%d;", (int)v->total, (int)v->self);
	}
	report_table_done(&t);
}

static void batches(void)
{
	struct buf first = {0}, out = {0};
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	for (size_t step = 1; step <= NR_EVENTS; step++) {
		struct report_feed *f = NULL;

		report_feed_new(&f, &by_comm_sym, NULL);
		made_feed(&m, f, step, 1);
		report_feed_finish(f);
		rows_of(f, step == 1 ? &first : &out);
		if (step == 1)
			CHECK_STR(
				buf_cstr(&first),
				"sh|[.] fn_m 50/0;sh|[.] fn_a 40/20;"
				"sh|[!] 0x0000000000000000 20/20;sh|[.] fn_b 20/10;cron|[.] fn_m 10/0;"
				"cron|[.] 0x00000000000003f4 10/10;sh|[.] fn_c 10/10;"
				"sh|[k] fn_S 10/10;",
				"rows");
		else
			CHECK_STR(buf_cstr(&out), buf_cstr(&first), "batches of %d", (int)step);
		report_feed_free(f);
	}
	buf_done(&first);
	buf_done(&out);
	made_done(&m);
}

/* Locations and chains of another epoch are others, whatever their ids and addresses in memory. */
static void epochs(void)
{
	static const struct made_event second[] = {
		{"sh", 1, 1, 0, 1, "xyz"},
                {"sh", 1, 2, 1, 1, "x"  },
                {"sh", 1, 1, 0, 1, "xy" }
        };
	struct report_feed *f = NULL;
	struct buf out = {0};
	struct made m;

	report_feed_new(&f, &by_comm_sym, NULL);
	made_init(&m, second, 3, 0);
	/* The same memory holds other functions afterwards. */
	made_feed(&m, f, 2, 1);
	m.chains[0]->locs[0] = &m.locs['q'];
	m.events[0].loc = &m.locs['q'];
	m.locs['x'].sym = &m.syms['p'];
	made_feed(&m, f, 2, 2);
	report_feed_finish(f);
	rows_of(f, &out);
	CHECK_STR(
		buf_cstr(&out),
		"sh|[.] fn_y 4/2;sh|[.] fn_p 3/1;sh|[.] fn_x 3/1;sh|[.] fn_q 1/1;sh|[.] fn_z 1/1;",
		"two epochs");
	report_feed_free(f);
	buf_done(&out);
	made_done(&m);
}

static void full(void)
{
	struct report_feed_opts opts = by_comm_sym;
	struct report_feed *f = NULL;
	const struct report_event *ev;
	struct buf out = {0};
	struct made m;

	opts.max_nodes = 4; /* the root, m, a, b */
	made_init(&m, events + 1, NR_EVENTS - 1, 0);
	report_feed_new(&f, &opts, NULL);
	CHECK_EQ(made_feed(&m, f, 2, 1), CLEW_OK, "a full tree is no failure");
	report_feed_finish(f);
	ev = report_feed_event(f, 0);
	CHECK_EQ(ev->nr, NR_EVENTS - 1, "every sample is counted");
	CHECK_EQ(ev->period, 70, "with its period");
	CHECK_EQ(ev->nr_no_room, 3, "cut paths are counted");
	rows_of(f, &out);
	CHECK_STR(buf_cstr(&out), "sh|[.] fn_m 30/0;sh|[.] fn_a 30/20;sh|[.] fn_b 10/10;",
		  "what had room is right");
	report_feed_free(f);
	buf_done(&out);
	made_done(&m);
}

/* Rows of files: all nameless places of one are a node where no graph or path shows them. */
static void files_alone(void)
{
	static const struct made_event nameless[] = {
		{"sh", 1, 1, 0, 10, "!"},
                {"sh", 1, 1, 0, 20, "?"},
                {"sh", 1, 1, 0, 30, "!"},
		{"sh", 1, 1, 0, 30, "?"},
                {"sh", 1, 1, 0, 40, "a"},
	};
	enum { NR = sizeof(nameless) / sizeof(nameless[0]) };
	struct report_feed *f;
	struct made m;

	made_init(&m, nameless, NR, 0);
	m.locs['#'].dso = m.user;
	m.locs['#'].sym = NULL;
	for (size_t i = 0; i < NR; i++)
		m.events[i].chain = NULL;
	m.events[3].loc = &m.locs['#'];
	for (int way = 0; way < 8; way++) {
		/* the root, '!', '?' and 'a' */
		const struct report_feed_opts opts = {
			.max_nodes = 4, .no_paths = way & 1, .no_graphs = way & 2};

		m.evsels[0].attr.sample_type = way & 4 ? 0 : PERF_SAMPLE_CALLCHAIN;
		f = made_report(&m, "comm,dso", opts);
		CHECK_EQ(report_feed_event(f, 0)->nr_no_room, way & 1 && way & 6 ? 0 : 1,
			 "nodes of nameless places, way %d", way);
		report_feed_free(f);
	}
	made_done(&m);
}

/* The sampled address is not where the chain ends: it is below that. */
static void leaf_apart(void)
{
	static const struct made_event one[] = {
		{"sh", 1, 1, 0, 1, "ma"}
        };
	struct report_feed *f = NULL;
	struct buf out = {0};
	struct made m;

	made_init(&m, one, 1, 0);
	m.events[0].loc = &m.locs['K'];
	report_feed_new(&f, &by_comm_sym, NULL);
	made_feed(&m, f, 1, 1);
	report_feed_finish(f);
	rows_of(f, &out);
	CHECK_STR(buf_cstr(&out), "sh|[.] fn_m 1/0;sh|[.] fn_a 1/0;sh|[k] fn_K 1/1;",
		  "the sampled function is the leaf");
	report_feed_free(f);
	buf_done(&out);
	made_done(&m);
}

static void sort_keys(void)
{
	struct report_sort s = {{REPORT_COMM}, 1};
	const char *bad;
	size_t len;

	CHECK_EQ(report_sort_parse(&s, "+symbol,dso,comm", &bad, &len), CLEW_OK, "keys are added");
	CHECK(s.nr == 3 && s.keys[1] == REPORT_SYM && s.keys[2] == REPORT_DSO, "no key twice");
	CHECK_EQ(report_sort_parse(&s, "dso,foo,sym", &bad, &len), CLEW_INVALID, "unknown key");
	CHECK(len == 3 && !strncmp(bad, "foo", 3) && s.nr == 3, "is named, and nothing changes");
	CHECK(report_sort_is_perf_key("transaction", 11), "perf has keys of its own");
	CHECK(!report_sort_is_perf_key("transactio", 10), "whole words");
}

static void bad_filters(void)
{
	struct report_feed_opts opts = by_comm_sym;
	struct report_feed *f = NULL;
	struct clew_diag diag = {0};

	opts.filter.pids = "1,x";
	CHECK_EQ(report_feed_new(&f, &opts, &diag), CLEW_INVALID, "a list of pids with a word");
	CHECK(diag.what != NULL, "says why");
}

/* Branch stacks of two entries for all of @p m: into the sampled function, and on from there. */
static void give_stacks(struct made *m)
{
	static uint64_t words[MAX_MADE][6];
	static const struct ana_loc *ends[MAX_MADE][4];

	for (size_t i = 0; i < m->nr; i++) {
		const struct ana_loc *at = m->events[i].loc ? m->events[i].loc : &m->locs['!'];
		const struct ana_loc *stack[] = {&m->locs['m'], at, at, &m->locs['z']};

		memcpy(ends[i], stack, sizeof(stack));
		words[i][2] = PERF_BRANCH_MISPRED | 7 << 4;
		words[i][5] = PERF_BRANCH_PREDICTED;
		m->samples[i].sample_type = PERF_SAMPLE_BRANCH_STACK;
		m->samples[i].branches.nr = i ? 2 : 1;
		m->samples[i].branches.words =
			(struct perf_words){(const uint8_t *)words[i], 6, false};
		m->events[i].branches = ends[i];
	}
	m->samples[NR_EVENTS - 1].sample_type = 0;
}

static const struct report_feed_opts by_ends = {
	.sort = {{REPORT_SYM_FROM, REPORT_DSO_TO, REPORT_SRCLINE_TO, REPORT_MISPREDICT,
		  REPORT_CYCLES, REPORT_SYM},
		 6},
	.by_branch = true,
};

static void branches(void)
{
	struct report_feed *f = NULL;
	const struct report_event *ev;
	struct buf out = {0};
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	give_stacks(&m);
	report_feed_new(&f, &by_ends, NULL);
	made_feed(&m, f, 2, 1);
	report_feed_finish(f);
	ev = report_feed_event(f, 0);
	CHECK(ev->nr == 9 && ev->period == 9, "each entry counts one, whatever the period");
	CHECK(ev->nr_stacks == 5 && ev->nr_stackless == 1, "samples with a stack, and without");
	rows_of(f, &out);
	CHECK(strstr(buf_cstr(&out), "|[.] fn_z 1/1;"), "rows are of where branches go to");
	report_feed_free(f);
	buf_done(&out);
	made_done(&m);
}

/* Every allocation fails once. */
static void no_memory(const struct report_feed_opts *feed)
{
	bool has_failed = true;
	uint64_t n = 0;
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	give_stacks(&m);
	for (; has_failed && n < 10000; n++) {
		struct report_feed *f = NULL;
		struct report_table t = {0};
		const struct report_table_opts opts = {.by_total = true, .has_graphs = true};
		size_t event = 0;
		enum clew_err err;

		mem_fail_after(n);
		err = report_feed_new(&f, feed, NULL);
		if (err == CLEW_OK)
			err = made_feed(&m, f, 2, 1);
		if (err == CLEW_OK)
			err = report_feed_finish(f);
		if (err == CLEW_OK)
			err = report_table_make(f, &event, 1, &opts, &t);
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		if (has_failed != (err == CLEW_NO_MEMORY))
			CHECK(false, "allocation %d fails: %s", (int)n, clew_err_name(err));
		if (err == CLEW_OK)
			report_table_done(&t);
		report_feed_free(f);
	}
	CHECK(!has_failed && n > 20, "each of %d allocations may fail", (int)n - 1);
	made_done(&m);
}

int main(void)
{
	batches();
	epochs();
	full();
	files_alone();
	leaf_apart();
	sort_keys();
	bad_filters();
	branches();
	no_memory(&by_comm_sym);
	no_memory(&by_ends);
	return tap_done();
}
