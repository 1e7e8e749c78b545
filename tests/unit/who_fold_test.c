/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_fold.h"

#include "unit/tap.h"

/*
 * A story of one CPU in a line: "5>7@10" a switch from 5 to 7 begins at 10, "7@12" 7 runs from 12
 * on, "5>@10", "7@12" the same of events of a task; a "p" after the time: preempted; "!20" records
 * were lost before 20; "s5@3" ITRACE_START; "t5>7@9" sched_switch; ".@30" another record. What is
 * read: "from:thread", of "-" nothing known, "X" a hole, "/" a switch; "<" backward, "z" it slept,
 * "p" it was preempted, "=R" root id.
 */
static const struct {
	const char *what, *story, *runs;
} rows[] = {
	{"a stay between two switches",					  "5>7@10 7<5@12 7>5@20 5<7@22",
	 "10:5<z 10:/ 12:7z 20:/ 22:5"																	   },
	{"what ran before the first switch",                                     ".@3 5>7@10p 7<5@12",                                 "3:5<p 10:/ 12:7"                         },
	{"the first record is an IN: the other ran before",                      ".@3 7<5@12 7>5@20",                                  "3:/ 12:7z 20:/"                          },
	{"an outside task sleeps",					       "0>7@10 7<0@12 7>0@20 0<7@22 0>7@30 7<0@31",
	 "10:0<z 10:/ 12:7z 20:/ 22:0z 30:/ 31:7"																},
	{"switches of a task's events say nothing of before",                    ".@3 5>@10 5<@20 5>@30",
	 "3:- 10:/ 20:5z 30:/"																		   },
	{"lost records: nothing from the last before",                           "5>7@10 7<5@12 .@15 !40 9>5@50 5<9@52",
	 "10:5<z 10:/ 12:7 15:X 40:9<z 50:/ 52:5"																},
	{"an IN is missing",						     "5>7@10 7>5@20 5<7@22",                               "10:5<z 10:/ 10:X 20:/ 22:5"              },
	{"an OUT is missing",						    "5>7@10 7<5@12 9<7@20",                               "10:5<z 10:/ 12:X 20:9"                   },
	{"another thread leaves than came",                                      "5>7@10 7<5@12 9>5@20 5<9@22",
	 "10:5<z 10:/ 12:X 20:/ 22:5"																	    },
	{"another thread comes than was announced",                              "5>7@10 9<5@12",                                      "10:5<z 10:/ 10:X 12:9"                   },
	{"a dead thread leaves",						 "5>7@10 7<5@12 -1>5@20 5<-1@22",                      "10:5<z 10:/ 12:7z 20:/ 22:5"             },
	{"a dead thread leaves that ran at ITRACE_START",                        "s5@3 -1>7@10 7<-1@12",
	 "3:5<z 10:/ 12:7"																		       },
	{"another break is not the point of ITRACE_START",
	 "s5@3 5>7@10 9<5@12 .@13 !20 -1>7@30 7<-1@32",										"3:5<z 10:/ 10:X 12:9 13:X 20:- 30:/ 32:7"},
	{"a pause of the trace changes nothing",                                 "5>7@10 7<5@12 s7@15 7>5@20",
	 "10:5<z 10:/ 12:7z 20:/"																		},
	{"the CPU was away",						     "5>7@10 7<5@12 .@13 s9@40 9>5@50",
	 "10:5<z 10:/ 12:7 13:- 40:9<z 50:/"																     },
	{"sched_switch names the stay",					  "t105>107@9 5>7@10 7<5@12 t107>105@19 7>5@20 5<7@22",
	 "9:5<z=105 10:/ 12:7z=107 20:/ 22:5=105"																},
	{"sched_switch samples are missing",                                     "t105>107@9 5>7@10 7<5@12 t109>105@19 7>5@20 5<7@22",
	 "9:5<z=105 10:/ 12:7z 20:/ 22:5=105"																    },
	{"sched_switch alone",						   "t105>107@1000 t107>105@90000 t105>107@95000",
	 "1000:- 1000:/ 21000:=107 90000:/ 95000:/"															      },
	{"sched_switch alone, one was lost",                                     "t105>107@1000 t109>105@90000",
	 "1000:- 1000:X 90000:/"																		 },
	{"a record that is older than the one before counts as that one's time",
	 "5>7@10 7<5@8 7>5@20",													"10:5<z 10:/ 10:7z 20:/"                  },
	{"nothing but other records",					    ".@3 .@5",                                            "3:-"                                     },
};

static void play_word(struct who_fold *f, const char *w)
{
	int a = 0, b = 0;
	unsigned long long t = 0;
	struct who_local_id x, y;

	if (sscanf(w, "!%llu", &t) == 1) {
		who_fold_lost(f, (struct clew_perf_ns){t});
	} else if (sscanf(w, ".@%llu", &t) == 1) {
		who_fold_other(f, (struct clew_perf_ns){t});
	} else if (sscanf(w, "s%d@%llu", &a, &t) == 2) {
		who_fold_start(f, (struct clew_perf_ns){t}, (struct who_local_id){a});
	} else if (sscanf(w, "t%d>%d@%llu", &a, &b, &t) == 3) {
		who_fold_sched(f, (struct clew_perf_ns){t}, (struct who_root_id){(uint32_t)a},
			       (struct who_root_id){(uint32_t)b});
	} else if (strchr(w, '>')) {
		bool is_wide = sscanf(w, "%d>%d@%llu", &a, &b, &t) == 3;

		if (!is_wide)
			sscanf(w, "%d>@%llu", &a, &t);
		y.n = b;
		who_fold_out(f, (struct clew_perf_ns){t},
			     &(struct who_fold_out){.from = {a},
						    .next = is_wide ? &y : NULL,
						    .is_preempt = strchr(w, 'p')});
	} else {
		bool is_wide = sscanf(w, "%d<%d@%llu", &a, &b, &t) == 3;

		if (!is_wide)
			sscanf(w, "%d<@%llu", &a, &t);
		x.n = b;
		who_fold_in(f, (struct clew_perf_ns){t},
			    &(struct who_fold_in){.to = {a}, .prev = is_wide ? &x : NULL});
	}
}

static void play(struct who_fold *f, const char *story)
{
	char words[512], *save = NULL;

	snprintf(words, sizeof(words), "%s", story);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		play_word(f, w);
	who_fold_end(f);
}

static int put_run(char *p, size_t size, const struct who_run *r)
{
	int n = snprintf(p, size, "%llu:", (unsigned long long)r->from.ns);

	if (r->kind != WHO_RUN_THREAD)
		return n + snprintf(p + n, size - (size_t)n, "%c", "-?/X"[r->kind]);
	if (!r->is_sched)
		n += snprintf(p + n, size - (size_t)n, "%d", r->id.n);
	n += snprintf(p + n, size - (size_t)n, "%s%s", r->is_backward ? "<" : "",
		      r->end == WHO_END_PREEMPTED ? "p"
		      : r->end == WHO_END_SLEEPS  ? "z"
						  : "");
	if (r->has_root)
		n += snprintf(p + n, size - (size_t)n, "=%u", r->root.n);
	return n;
}

static void print_runs(const struct who_runs *l, char *p, size_t size)
{
	struct who_run_cursor c;
	int n = 0;

	*p = 0;
	for (bool ok = who_runs_first(l, &c); ok; ok = who_runs_next(&c)) {
		if (n)
			p[n++] = ' ';
		n += put_run(p + n, size - (size_t)n, &c.run);
	}
}

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct who_fold f = {.has_last = false};
		char got[512];

		play(&f, rows[i].story);
		print_runs(&f.runs, got, sizeof(got));
		CHECK_STR(got, rows[i].runs, "%s", rows[i].what);
		who_fold_done(&f);
	}
}

/** What was put in comes out again, at any place. */
static void check_packed(struct who_run_store *store, const char *where)
{
	enum { NR = 10000 };
	struct who_runs l = {.store = store};
	struct who_run_cursor c;
	uint64_t nr_wrong = 0, t = UINT64_C(1) << 40;

	for (int i = 0; i < NR; i++) {
		t += (uint64_t)i * (uint64_t)i * 7;
		who_runs_add(&l, &(struct who_run){.kind = i % 2 ? WHO_RUN_SWITCH : WHO_RUN_THREAD,
						   .id = {i % 5 ? i * 4001 : -1},
						   .has_root = i % 4 == 0,
						   .root = {UINT32_MAX - (uint32_t)i},
						   .from = {t}});
	}
	who_runs_end(&l);
	who_runs_map(&l, store->spill.map ? store->spill.map(NULL) : NULL);
	t = UINT64_C(1) << 40;
	who_runs_first(&l, &c);
	for (int i = 0; i < NR; i++, who_runs_next(&c)) {
		struct who_run_cursor s;

		t += (uint64_t)i * (uint64_t)i * 7;
		nr_wrong +=
			c.run.from.ns != t || c.has_prev != (i > 0) || c.has_next != (i < NR - 1);
		nr_wrong += i % 2 == 0 && c.run.id.n != (i % 5 ? i * 4001 : -1);
		nr_wrong += i % 4 == 0 && c.run.root.n != UINT32_MAX - (uint32_t)i;
		nr_wrong += !who_runs_seek(&l, (struct clew_perf_ns){t}, &s) || s.run.from.ns > t;
		while (s.run.from.ns < t && who_runs_next(&s))
			;
		nr_wrong += s.run.from.ns != t;
	}
	CHECK_EQ(nr_wrong, 0, "%d runs %s: read in order, and found by time", NR, where);
	CHECK(store->kept_bytes + store->spilled_bytes < NR * 13, "packed");
	who_runs_done(&l);
}

/* A file that has room for some. */
static uint64_t spilled[1 << 12];
static size_t nr_spilled;

static uint64_t put(void *ctx, const void *data, size_t bytes)
{
	size_t at = nr_spilled, end = at + bytes / sizeof(*spilled);

	(void)ctx;
	if (end > sizeof(spilled) / sizeof(*spilled))
		return UINT64_MAX;
	memcpy(spilled + at, data, bytes);
	nr_spilled = end;
	return at * sizeof(*spilled);
}

static const uint8_t *map(void *ctx)
{
	(void)ctx;
	return (const uint8_t *)spilled;
}

static void test_packed(void)
{
	struct who_run_store kept =
				     {
					     .keep_bytes = 0
        },
			     full = {.spill = {.put = put, .map = map}, .keep_bytes = 30000};

	check_packed(&kept, "in memory");
	check_packed(&full, "in memory, in a file, and in memory where that is full");
	CHECK(full.spilled_bytes > 10000 && full.kept_bytes > 40000, "in both");
}

int main(void)
{
	test_rows();
	test_packed();
	return tap_done();
}
