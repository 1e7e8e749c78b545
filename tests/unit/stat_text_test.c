/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `clew stat` prints, of made counts: rows, metrics, errors of means. Wanted lines are perf
 * 6.1's where this machine's perf could print them. */
#include "format/stat/stat_text.h"

#include "unit/tap.h"

#define MS 1000000.0

static const struct stat_style text_style = {STAT_TEXT, NULL, "", false};
static const struct stat_style comma_style = {STAT_FIELDS, ",", "", false};
static const struct stat_style json_style = {STAT_JSON, NULL, "", false};

static void make(struct counts *c, uint32_t nr_events, uint32_t nr_parts)
{
	*c = (struct counts){.nr_runs = 1};
	counts_make(c, nr_events, nr_parts);
	count_stats_add(&c->elapsed_ns, 10 * MS);
}

static void set(struct counts *c, uint32_t i, const char *name, enum count_kind kind, double value)
{
	c->events[i] = (struct count_event){name, kind, 0, true};
	counts_add(c, i, 0, value, 5000000, 5000000);
}

static const char *rows(struct buf *out, const struct stat_style *style, const struct counts *c)
{
	buf_clear(out);
	stat_put_rows(out, style, c);
	return buf_cstr(out);
}

static void test_forms(struct buf *out)
{
	struct counts c;

	make(&c, 3, 1);
	set(&c, 0, "task-clock", COUNT_CLOCK, 4.98 * MS);
	set(&c, 1, "page-faults", COUNT_OTHER, 49);
	c.events[2] = (struct count_event){"cycles", COUNT_CYCLES, 0, false};
	CHECK_STR(rows(out, &text_style, &c),
		  "              4.98 msec task-clock                       #    0.498 CPUs "
		  "utilized          \n"
		  "                49      page-faults                      #    9.839 K/sec       "
		  "           \n"
		  "   <not supported>      cycles                                                  "
		  "    \n",
		  "text");
	CHECK_STR(rows(out, &comma_style, &c),
		  "4.98,msec,task-clock,5000000,100.00,0.498,CPUs utilized\n"
		  "49,,page-faults,5000000,100.00,9.839,K/sec\n"
		  "<not supported>,,cycles,0,100.00,,\n",
		  "fields");
	CHECK_STR(
		rows(out, &json_style, &c),
		"{\"counter-value\" : \"4.980000\", \"unit\" : \"msec\", \"event\" : \"task-clock\", "
		"\"event-runtime\" : 5000000, \"pcnt-running\" : 100.00, \"metric-value\" : "
		"0.498000, \"metric-unit\" : \"CPUs utilized\"}\n"
		"{\"counter-value\" : \"49.000000\", \"unit\" : \"\", \"event\" : \"page-faults\", "
		"\"event-runtime\" : 5000000, \"pcnt-running\" : 100.00, \"metric-value\" : "
		"9.839357, \"metric-unit\" : \"K/sec\"}\n"
		"{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : "
		"\"cycles\", \"event-runtime\" : 0, \"pcnt-running\" : 100.00, "
		"\"metric-value\" : 0.000000, \"metric-unit\" : \"\"}\n",
		"JSON");
	counts_done(&c);
}

static void test_metrics(struct buf *out)
{
	static const struct {
		const char *name;
		enum count_kind kind;
		double value;
		const char *want;
	} events[] = {
		{"task-clock",    COUNT_CLOCK,         5 * MS, "0.500,CPUs utilized"       },
		{"cycles",        COUNT_CYCLES,        1.5e7,  "3.000,GHz"                 },
		{"instructions",  COUNT_INSTRUCTIONS,  3e7,    "2.00,insn per cycle"       },
		{"branches",      COUNT_BRANCHES,      4e6,    "800.000,M/sec"             },
		{"branch-misses", COUNT_BRANCH_MISSES, 1e5,    "2.50,of all branches"      },
		{"cache-misses",  COUNT_CACHE_MISSES,  5,      "1.000,K/sec"               },
		{"stalled",       COUNT_STALLED_FRONT, 1.5e6,  "10.00,frontend cycles idle"},
		{"faults",        COUNT_OTHER,         0,      "0.000,/sec"                },
	};
	enum { NR = sizeof(events) / sizeof(*events) };
	struct counts c;
	const char *at;

	make(&c, NR, 1);
	for (uint32_t i = 0; i < NR; i++)
		set(&c, i, events[i].name, events[i].kind, events[i].value);
	at = rows(out, &comma_style, &c);
	for (uint32_t i = 0; i < NR; i++) {
		const char *end = strchr(at, '\n');
		size_t n = strlen(events[i].want);

		CHECK((size_t)(end - at) > n && !memcmp(end - n, events[i].want, n) &&
			      end[-(long)n - 1] == ',',
		      "%s: %s", events[i].name, events[i].want);
		at = end + 1;
		if (*at == ',') /* a second metric of the same event */
			at = strchr(at, '\n') + 1;
	}
	CHECK(strstr(rows(out, &text_style, &c), " #    2.00  insn per cycle         \n"),
	      "text of a ratio");
	CHECK(strstr(rows(out, &text_style, &c), " #    2.50% of all branches        \n"),
	      "text of a part");
	CHECK(strstr(buf_cstr(out),
		     "\n                                                         #    0.05  "
		     "stalled cycles per insn\n"),
	      "text of a second metric, below the first");
	CHECK(strstr(rows(out, &comma_style, &c), "\n,,,,,0.05,stalled cycles per insn\n"),
	      "fields");
	CHECK(strstr(rows(out, &json_style, &c),
		     "\n{\"metric-value\" : 0.050000, \"metric-unit\" : \"stalled cycles per "
		     "insn\"}\n"),
	      "JSON");
	c.events[1].world = 1;
	CHECK(!strstr(rows(out, &text_style, &c), "insn per cycle"),
	      "instructions of all modes are not related to cycles of one");
	counts_done(&c);
}

static void test_shared(struct buf *out)
{
	struct counts c;

	make(&c, 2, 1);
	c.events[0] = (struct count_event){"instructions", COUNT_INSTRUCTIONS, 0, true};
	c.events[1] = (struct count_event){"cycles", COUNT_CYCLES, 0, true};
	counts_add(&c, 0, 0, 1234567, 4000, 1000);
	counts_add(&c, 1, 0, 0, 4000, 0);
	CHECK_STR(rows(out, &(struct stat_style){STAT_TEXT, NULL, ",", false}, &c),
		  "         1,234,567      instructions                                            "
		  "             (25.00%)\n"
		  "     <not counted>      cycles                                                  "
		  "    \n",
		  "how much of the time an event had a counter, and groups of digits");
	CHECK_STR(rows(out, &(struct stat_style){STAT_FIELDS, ";", ",", false}, &c),
		  "1234567;;instructions;1000;25.00;;\n<not counted>;;cycles;0;0.00;;\n",
		  "another separator; numbers have none");
	counts_done(&c);
}

static void test_runs(struct buf *out)
{
	struct counts c;

	make(&c, 1, 1);
	c.events[0] = (struct count_event){"page-faults", COUNT_OTHER, 0, true};
	for (int i = 0; i < 3; i++)
		counts_add(&c, 0, 0, 99 + i, 1000, 1000);
	count_stats_add(&c.elapsed_ns, 12 * MS);
	count_stats_add(&c.elapsed_ns, 14 * MS);
	c.nr_runs = 3;
	CHECK_STR(rows(out, &text_style, &c),
		  "               100      page-faults                                             "
		  "             ( +-  0.58% )\n",
		  "the mean, and its standard error");
	CHECK_STR(rows(out, &comma_style, &c), "100,,page-faults,0.58%,1000,100.00,,\n",
		  "as a field");
	CHECK(strstr(rows(out, &json_style, &c), "\"variance\" : 0.58, "), "as JSON");
	buf_clear(out);
	stat_put_head(out, &text_style, &c, "'true'");
	stat_put_times(out, &text_style, &c);
	CHECK_STR(buf_cstr(out),
		  "\n Performance counter stats for 'true' (3 runs):\n\n"
		  "\n           0.01200 +- 0.00115 seconds time elapsed  ( +-  9.62% )\n\n",
		  "head and times");
	counts_done(&c);
}

static void test_times(struct buf *out)
{
	struct counts c;

	make(&c, 0, 1);
	c.has_times = true;
	c.user_ns = 1460000;
	buf_clear(out);
	stat_put_times(out, &text_style, &c);
	CHECK_STR(buf_cstr(out),
		  "\n       0.010000000 seconds time elapsed\n\n       0.001460000 seconds user\n"
		  "       0.000000000 seconds sys\n\n\n",
		  "times of one run");
	CHECK_STR(rows(out, &text_style, &c), "", "no events");
	counts_done(&c);
}

static void test_parts(struct buf *out)
{
	static const struct {
		enum count_by by;
		const char *text, *fields, *json;
	} kinds[] = {
		{COUNT_BY_CPU,    "CPU7                        5 ",                 "CPU7,",       "\"cpu\" : \"7\", "                 },
		{COUNT_BY_CORE,   "S1-D0-C3           2                  5 ",       "S1-D0-C3,2,",
		 "\"core\" : \"S1-D0-C3\", \"aggregate-number\" : 2, "                                                                 },
		{COUNT_BY_SOCKET, "S1        2                  5 ",                "S1,2,",
		 "\"socket\" : \"S1\", \"aggregate-number\" : 2, "								     },
		{COUNT_BY_THREAD, "       sh\\x1b[2J-42                        5 ",
		 "sh\\x1b[2J-42,",								 "\"thread\" : \"sh\\u001b[2J-42\", "},
	};
	struct counts c;

	make(&c, 1, 1);
	set(&c, 0, "cs", COUNT_OTHER, 5);
	c.parts[0] = (struct count_part){7, 1, 0, 3, 42, 2, "sh\33[2J"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		c.by = kinds[i].by;
		rows(out, &text_style, &c);
		CHECK(!strncmp(buf_cstr(out), kinds[i].text, strlen(kinds[i].text)),
		      "text of a part: '%s'", kinds[i].text);
		rows(out, &comma_style, &c);
		CHECK(!strncmp(buf_cstr(out), kinds[i].fields, strlen(kinds[i].fields)),
		      "fields of a part: %s", kinds[i].fields);
		rows(out, &json_style, &c);
		CHECK(!strncmp(buf_cstr(out) + 1, kinds[i].json, strlen(kinds[i].json)),
		      "JSON of a part: %s", kinds[i].json);
	}
	counts_done(&c);
}

/* What sysfs says of an event: so many of a unit. */
static void test_units(struct buf *out)
{
	struct counts c;

	make(&c, 2, 1);
	set(&c, 0, "power/energy-pkg/", COUNT_OTHER, 1234.5);
	c.events[0].scale = 2.3283064365386962890625e-10;
	c.events[0].unit = "Joules";
	set(&c, 1, "topdown-total-slots", COUNT_OTHER, 8);
	c.events[1].scale = 4;
	CHECK_STR(rows(out, &comma_style, &c),
		  "1234.50,Joules,power/energy-pkg/,5000000,100.00,,\n"
		  "8,,topdown-total-slots,5000000,100.00,,\n",
		  "a unit, and decimals where counts are parts of it");
	CHECK(!strncmp(rows(out, &(struct stat_style){STAT_TEXT, NULL, ",", false}, &c),
		       "          1,234.50 Joules power/energy-pkg/ ", 43),
	      "text");
	CHECK(!strncmp(rows(out, &json_style, &c),
		       "{\"counter-value\" : \"1234.500000\", \"unit\" : \"Joules\", ", 53),
	      "JSON");
	c.events[1].scale = 1e30;
	CHECK(strstr(rows(out, &comma_style, &c), "\n8,,topdown-total-slots,"),
	      "none of a scale that no integer holds");
	counts_done(&c);
}

static void test_interval(struct buf *out)
{
	const struct stat_style style = {STAT_TEXT, NULL, "", true};
	struct counts c;

	make(&c, 1, 1);
	set(&c, 0, "cs", COUNT_OTHER, 5);
	c.at_ns = 1104910821;
	buf_clear(out);
	stat_put_columns(out, &style, &c);
	stat_put_rows(out, &style, &c);
	CHECK(!strncmp(buf_cstr(out),
		       "#           time             counts unit events\n"
		       "     1.104910821                  5      cs     ",
		       94),
	      "intervals begin with the time");
	CHECK(!strncmp(rows(out, &(struct stat_style){STAT_FIELDS, ",", "", true}, &c),
		       "     1.104910821,5,,cs,", 23),
	      "fields, too");
	CHECK(!strncmp(rows(out, &(struct stat_style){STAT_JSON, NULL, "", true}, &c),
		       "{\"interval\" : 1.104910821, \"counter-value\"", 42),
	      "and JSON");
	counts_done(&c);
}

int main(void)
{
	struct buf out = {0};

	test_forms(&out);
	test_metrics(&out);
	test_shared(&out);
	test_runs(&out);
	test_times(&out);
	test_parts(&out);
	test_units(&out);
	test_interval(&out);
	buf_done(&out);
	return tap_done();
}
