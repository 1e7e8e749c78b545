/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The -e spellings that need nothing of the machine: what attr, name and group each becomes. The
 * rows were compared with `perf record -e X; perf evlist -v` of perf 6.1. */
#include "base/mem.h"
#include "record/plan/event_list.h"
#include "unit/tap.h"

#define EXCL_GUEST PERF_ATTR_EXCLUDE_GUEST
#define USER       (PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV)
#define KERNEL     (PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_HV)
#define PRECISE(n) ((uint64_t)(n) << PERF_ATTR_PRECISE_IP_SHIFT)

/* clang-format off */
static const struct row {
	const char *text, *name;
	uint32_t type;
	uint64_t config, flags;
} rows[] = {
	{ "cycles",                  "cycles",           0, 0,       EXCL_GUEST },
	{ "cpu-cycles:u",            "cpu-cycles:u",     0, 0,       EXCL_GUEST | USER },
	{ "instructions:k",          "instructions:k",   0, 1,       KERNEL },
	{ "cycles:pp",               "cycles:pp",        0, 0,       EXCL_GUEST | PRECISE(2) },
	{ "cycles:P",                "cycles:P",         0, 0,       PRECISE(3) },
	{ "ref-cycles",              "ref-cycles",       0, 9,       EXCL_GUEST },
	{ "cpu-clock",               "cpu-clock",        1, 0,       EXCL_GUEST },
	{ "cpu-clock:ukp",           "cpu-clock:ukp",    1, 0,       EXCL_GUEST | PERF_ATTR_EXCLUDE_HV | PRECISE(1) },
	{ "cpu-clock:",              "cpu-clock:",       1, 0,       EXCL_GUEST },
	{ " cpu-clock ",             "cpu-clock",        1, 0,       EXCL_GUEST },
	{ "cs",                      "cs",               1, 3,       EXCL_GUEST },
	{ "minor-faults:uG",         "minor-faults:uG",  1, 5,       PERF_ATTR_EXCLUDE_HOST | USER },
	{ "minor-faults:H",          "minor-faults:H",   1, 5,       EXCL_GUEST },
	{ "minor-faults:GH",         "minor-faults:GH",  1, 5,       0 },
	{ "minor-faults:uh",         "minor-faults:uh",  1, 5,       EXCL_GUEST | PERF_ATTR_EXCLUDE_KERNEL },
	{ "minor-faults:D",          "minor-faults:D",   1, 5,       PERF_ATTR_PINNED },
	{ "minor-faults:I",          "minor-faults:I",   1, 5,       PERF_ATTR_EXCLUDE_IDLE },
	{ "minor-faults:e",          "minor-faults:e",   1, 5,       PERF_ATTR_EXCLUSIVE },
	{ "minor-faults:W",          "minor-faults:W",   1, 5,       0 },
	{ "cgroup-switches:k",       "cgroup-switches:k",1, 11,      KERNEL },
	{ "L1-dcache-load-misses",   "L1-dcache-load-misses", 3, 0x10000, EXCL_GUEST },
	{ "L1-dcache-loads",         "L1-dcache-loads",  3, 0,       EXCL_GUEST },
	{ "l1d-misses-read",         "l1d-misses-read",  3, 0x10000, EXCL_GUEST },
	{ "LLC-store-misses:u",      "LLC-store-misses:u", 3, 0x10102, EXCL_GUEST | USER },
	{ "iTLB-load-misses",        "iTLB-load-misses", 3, 0x10004, EXCL_GUEST },
	{ "dTLB-prefetch-misses",    "dTLB-prefetch-misses", 3, 0x10203, EXCL_GUEST },
	{ "branch-loads",            "branch-loads",     3, 5,       EXCL_GUEST },
	{ "branch-load-misses",      "branch-load-misses", 3, 0x10005, EXCL_GUEST },
	{ "branch-misses",           "branch-misses",    0, 5,       EXCL_GUEST },
	{ "node-speculative-read",   "node-speculative-read", 3, 0x206, EXCL_GUEST },
	{ "r1a8",                    "r1a8",             4, 0x1a8,   EXCL_GUEST },
	{ "r1a8:u",                  "r1a8:u",           4, 0x1a8,   EXCL_GUEST | USER },
	{ "r0x1a8",                  "r0x1a8",           4, 0x1a8,   EXCL_GUEST },
	{ "1:5:k",                   "1:5:k",            1, 5,       KERNEL },
	{ "cpu-clock/config=1/",     "cpu-clock/config=1/", 1, 1,    EXCL_GUEST },
	{ "cpu-clock/name=foo/u",    "foo",              1, 0,       EXCL_GUEST | USER },
	{ "cpu-clock/name=foo/:u",   "foo",              1, 0,       EXCL_GUEST | USER },
	{ "cpu-clock/freq=99/",      "cpu-clock/freq=99/", 1, 0,     EXCL_GUEST | PERF_ATTR_FREQ },
	{ "cpu-clock//",             "cpu-clock//",      1, 0,       EXCL_GUEST },
	{ "cpu-clock/aux-output/",   "cpu-clock/aux-output/", 1, 0,  EXCL_GUEST | PERF_ATTR_AUX_OUTPUT },
	{ "mem:0x1000",              "mem:0x1000",       5, 0,       EXCL_GUEST },
	{ "mem:0x1000:rw:u",         "mem:0x1000:rw:u",  5, 0,       EXCL_GUEST | USER },
	{ "mem:0x1000:u",            "mem:0x1000:u",     5, 0,       EXCL_GUEST | USER },
};
/* clang-format on */

static void check_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		struct rec_event_list l = {0};
		struct rec_error error;
		enum clew_err err = rec_events_parse(&l, r->text, &error);

		CHECK_EQ(err, CLEW_OK, "'%s' is an event", r->text);
		CHECK_EQ(l.events.nr, 1, "'%s' is one event", r->text);
		if (err)
			continue;
		CHECK_STR(l.events.data[0].name, r->name, "'%s': name", r->text);
		CHECK_EQ(l.events.data[0].attr.type, r->type, "'%s': type", r->text);
		CHECK_EQ(l.events.data[0].attr.config, r->config, "'%s': config", r->text);
		CHECK_EQ(l.events.data[0].attr.flags, r->flags, "'%s': flags", r->text);
		rec_events_done(&l);
	}
}

/* clang-format off */
static const struct bad {
	const char *text;
	size_t pos;
	const char *says; /* part of the sentence */
} bads[] = {
	{ "cyles",                        0, "did you mean 'cycles'?" },
	{ "CPU-CLOCK",                    0, "did you mean 'cpu-clock'?" },
	{ "l1-dcache-lods",               0, "did you mean 'L1-dcache-loads'?" },
	{ "qqqqqqqq",                     0, "`clew list` shows all" },
	{ "cpu-clock,,cs",               10, "name is missing" },
	{ "",                             0, "name is missing" },
	{ "cpu-clock,",                  10, "name is missing" },
	{ "{cpu-clock",                  10, "no '}'" },
	{ "{cpu-clock,{cs}}",            11, "do not nest" },
	{ "cpu-clock}",                   9, "without a ','" },
	{ "cpu-clock:x",                 10, "no modifier 'x'" },
	{ "cpu-clock:uu",                11, "given twice" },
	{ "cpu-clock:pppp",              13, "more than three p" },
	{ "cpu-clock:u:k",               11, "makes no sense" },
	{ "cpu-clock/foo=1/",            10, "no term 'foo'" },
	{ "cpu-clock/perod=1/",          10, "did you mean 'period'?" },
	{ "cpu-clock/period=1k/",        17, "needs a number" },
	{ "cpu-clock/period=0/",         17, "at least 1" },
	{ "cpu-clock/period/",           10, "needs a number" },
	{ "cpu-clock/period=1",          18, "no '/'" },
	{ "cpu-clock/call-graph=x/",     21, "fp, dwarf, lbr or no" },
	{ "cpu-clock/aux-action=go/",    21, "start-paused, pause or resume" },
	{ "cpu-clock/stack-size=1M/",    21, "at most 65528" },
	{ "rFFG",                         0, "no event" },
	{ "mem:0x1000/9:w",              11, "1, 2, 4 or 8" },
	{ "mem:0x1000:rx",               11, "x excludes r and w" },
	{ "mem:main",                     4, "needs an address" },
	{ "iTLB-stores",                  0, "no event" },
	{ "nopmu/x/",                     0, "no PMU 'nopmu'" },
};
/* clang-format on */

static void check_bads(void)
{
	struct rec_event_list l = {0};

	rec_events_parse(&l, "cs", NULL);
	for (size_t i = 0; i < sizeof(bads) / sizeof(*bads); i++) {
		struct rec_error error = {0};
		enum clew_err err = rec_events_parse(&l, bads[i].text, &error);
		bool says = strstr(error.text, bads[i].says);

		CHECK(err != CLEW_OK, "'%s' is refused", bads[i].text);
		CHECK_EQ(error.pos, bads[i].pos, "'%s': place", bads[i].text);
		CHECK(says, "'%s': %s", bads[i].text, bads[i].says);
		if (!says)
			printf("# said: %s\n", error.text);
		CHECK_EQ(l.events.nr, 1, "'%s' left the list as it was", bads[i].text);
	}
	rec_events_done(&l);
}

static void check_groups(void)
{
	struct rec_event_list l = {0};
	const struct rec_event *e;

	CHECK_EQ(rec_events_parse(&l, "dummy,grp{cpu-clock:k,page-faults}:Su, cs", NULL), CLEW_OK,
		 "a group between single events");
	e = l.events.data;
	CHECK_EQ(l.events.nr, 4, "four events");
	CHECK_EQ(e[0].leader, 0, "the first stands alone");
	CHECK_EQ(e[1].leader, 1, "the group's first leads");
	CHECK_EQ(e[2].leader, 1, "the other follows");
	CHECK_EQ(e[3].leader, 3, "after the group: alone again");
	CHECK_STR(e[1].group_name, "grp", "the group's name");
	CHECK_STR(e[1].name, "cpu-clock:k", "group modifiers are not in the name");
	CHECK_EQ(e[1].attr.flags, EXCL_GUEST | PERF_ATTR_EXCLUDE_HV, "k and the group's u: both");
	CHECK_EQ(e[2].attr.flags, EXCL_GUEST | USER, "u of the group");
	CHECK(e[1].wants_read && e[2].wants_read && !e[3].wants_read, "S is the group's");
	rec_events_done(&l);
}

static void check_terms(void)
{
	struct rec_event_list l = {0};
	const struct rec_event *e;

	CHECK_EQ(rec_events_parse(&l,
				  "cpu-clock/period=0x10,time=0,call-graph=dwarf,stack-size=4k/,"
				  "cpu-clock/no-inherit,max-stack=10/,bpf-output,mem:0x10/2:w,"
				  "cs/overwrite,nr=7,branch_type=any_call|u,aux-action=pause/",
				  NULL),
		 CLEW_OK, "terms");
	e = l.events.data;
	CHECK(e[0].has_period && e[0].attr.sample_period == 16, "period=");
	CHECK(e[0].has_time_term && !e[0].wants_time, "time=0");
	CHECK(e[0].has_stacks && e[0].stacks == REC_STACKS_COPY, "call-graph=dwarf");
	CHECK_EQ(e[0].stack_bytes, 4096, "stack-size=4k");
	CHECK(e[1].has_inherit && !e[1].wants_inherit, "the term no-inherit is taken");
	CHECK(e[1].has_stacks && e[1].stacks == REC_STACKS_AUTO && e[1].attr.sample_max_stack == 10,
	      "max-stack= asks for chains");
	CHECK(e[2].attr.sample_period == 1 && !e[2].has_period, "bpf-output samples each, weakly");
	CHECK_EQ(e[3].attr.config1, 0x10, "breakpoint address");
	CHECK_EQ(e[3].attr.config2, 2, "breakpoint length");
	CHECK_EQ(e[3].attr.bp_type, 2, "breakpoint access");
	CHECK(e[4].wants_overwrite && e[4].max_events == 7, "overwrite, nr=");
	CHECK_EQ(e[4].attr.branch_sample_type,
		 PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER, "branch_type=");
	CHECK_EQ(e[4].attr.aux_action, PERF_AUX_PAUSE, "aux-action=");
	rec_events_done(&l);
}

static void check_memory(void)
{
	for (uint64_t n = 0;; n++) {
		struct rec_event_list l = {0};
		enum clew_err err;

		mem_fail_after(n);
		err = rec_events_parse(&l, "{cs,cpu-clock/name=x/},mem:0x1000:w:u", NULL);
		mem_fail_after(UINT64_MAX);
		if (err && (err != CLEW_NO_MEMORY || l.events.nr)) {
			CHECK(false, "allocation %llu refused", (unsigned long long)n);
			return;
		}
		rec_events_done(&l);
		if (!err) {
			CHECK(n > 1, "each of %llu allocations may fail", (unsigned long long)n);
			return;
		}
	}
}

int main(void)
{
	check_rows();
	check_bads();
	check_groups();
	check_terms();
	check_memory();
	return tap_done();
}
