/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each metric of `clew stat`, of counts that were chosen so that its value can be seen. There is no
 * machine with counters to compare with. */
#include <math.h>

#include "report/counts.h"
#include "unit/tap.h"

enum { MAX_EVENTS = 6 };

struct event {
	enum count_kind kind;
	double count;
};

static void make(struct counts *c, const struct event *events)
{
	uint32_t nr = 0;

	while (nr < MAX_EVENTS && events[nr].count >= 0)
		nr++;
	*c = (struct counts){.nr_runs = 1};
	counts_make(c, nr, 1);
	count_stats_add(&c->elapsed_ns, 1e9);
	for (uint32_t i = 0; i < nr; i++) {
		c->events[i] = (struct count_event){.kind = events[i].kind, .is_supported = true};
		counts_add(c, i, 0, events[i].count, 1000, 1000);
	}
}

#define NONE      \
 {                \
  COUNT_OTHER, -1 \
 }
#define CLOCK      \
 {                 \
  COUNT_CLOCK, 2e9 \
 }
#define CYCLES      \
 {                  \
  COUNT_CYCLES, 6e9 \
 }
#define SLOTS                                                                \
 {COUNT_SLOTS, 1000}, {COUNT_SLOTS_ISSUED, 500}, {COUNT_SLOTS_RETIRED, 400}, \
	 {COUNT_SLOTS_BUBBLES, 200},                                         \
 {                                                                           \
  COUNT_SLOTS_RECOVERY, 50                                                   \
 }

/* clang-format off */
static const struct {
	struct event events[MAX_EVENTS]; /* the first one's metric */
	double value;
	const char *unit; /* NULL: it has none */
} cases[] = {
	{{CLOCK, NONE}, 2, "CPUs utilized"},
	{{CYCLES, CLOCK, NONE}, 3, "GHz"},
	{{CYCLES, NONE}, 0, NULL},
	{{{COUNT_INSTRUCTIONS, 9e9}, CYCLES, CLOCK, NONE}, 1.5, "insn per cycle"},
	{{{COUNT_INSTRUCTIONS, 9e9}, CLOCK, NONE}, 4.5, "G/sec"},
	{{{COUNT_INSTRUCTIONS, 9e9}, NONE}, 0, NULL},
	{{{COUNT_BRANCHES, 8e6}, CLOCK, CYCLES, NONE}, 4, "M/sec"},
	{{{COUNT_BRANCH_MISSES, 2e6}, {COUNT_BRANCHES, 8e6}, CLOCK, NONE}, 25, "of all branches"},
	{{{COUNT_BRANCH_MISSES, 2e6}, {COUNT_BRANCHES, 0}, CLOCK, NONE}, 1, "M/sec"},
	{{{COUNT_STALLED_FRONT, 3e9}, CYCLES, CLOCK, NONE}, 50, "frontend cycles idle"},
	{{{COUNT_STALLED_BACK, 1.5e9}, CYCLES, CLOCK, NONE}, 25, "backend cycles idle"},
	{{{COUNT_CACHE_REFS, 4e3}, CLOCK, NONE}, 2, "K/sec"},
	{{{COUNT_CACHE_MISSES, 1e3}, {COUNT_CACHE_REFS, 4e3}, CLOCK, NONE}, 25, "of all cache refs"},
	{{{COUNT_L1D_MISSES, 1}, {COUNT_L1D_LOADS, 8}, NONE}, 12.5, "of all L1-dcache accesses"},
	{{{COUNT_L1I_MISSES, 1}, {COUNT_L1I_LOADS, 8}, NONE}, 12.5, "of all L1-icache accesses"},
	{{{COUNT_LLC_MISSES, 1}, {COUNT_LLC_LOADS, 8}, NONE}, 12.5, "of all LL-cache accesses"},
	{{{COUNT_DTLB_MISSES, 1}, {COUNT_DTLB_LOADS, 8}, NONE}, 12.5, "of all dTLB cache accesses"},
	{{{COUNT_ITLB_MISSES, 1}, {COUNT_ITLB_LOADS, 8}, NONE}, 12.5, "of all iTLB cache accesses"},
	{{{COUNT_L1D_LOADS, 6e3}, CLOCK, NONE}, 3, "K/sec"},
	{{{COUNT_OTHER, 100}, CLOCK, NONE}, 50, "/sec"},
	{{{COUNT_TOP_RETIRING, 30}, {COUNT_TOP_BAD_SPEC, 10}, {COUNT_TOP_FRONT, 40}, {COUNT_TOP_BACK, 20}, NONE}, 30, "Retiring"},
	{{{COUNT_TOP_BAD_SPEC, 10}, {COUNT_TOP_RETIRING, 30}, {COUNT_TOP_FRONT, 40}, {COUNT_TOP_BACK, 120}, NONE}, 5, "Bad Speculation"},
	{{{COUNT_TOP_FRONT, 40}, {COUNT_TOP_RETIRING, 30}, {COUNT_TOP_BAD_SPEC, 10}, {COUNT_TOP_BACK, 20}, NONE}, 40, "Frontend Bound"},
	{{{COUNT_TOP_BACK, 20}, {COUNT_TOP_RETIRING, 30}, {COUNT_TOP_BAD_SPEC, 10}, {COUNT_TOP_FRONT, 40}, NONE}, 20, "Backend Bound"},
	{{{COUNT_TOP_BACK, 20}, {COUNT_TOP_RETIRING, 30}, {COUNT_TOP_BAD_SPEC, 10}, NONE}, 0, NULL},
	{{{COUNT_TOP_BACK, 0}, {COUNT_TOP_RETIRING, 0}, {COUNT_TOP_BAD_SPEC, 0}, {COUNT_TOP_FRONT, 0}, NONE}, 0, NULL},
	{{SLOTS, NONE}, 0, NULL},
	{{{COUNT_SLOTS_RETIRED, 400}, {COUNT_SLOTS_ISSUED, 500}, {COUNT_SLOTS, 1000}, {COUNT_SLOTS_BUBBLES, 200}, {COUNT_SLOTS_RECOVERY, 50}, NONE}, 40, "retiring"},
	{{{COUNT_SLOTS_BUBBLES, 200}, {COUNT_SLOTS_ISSUED, 500}, {COUNT_SLOTS, 1000}, {COUNT_SLOTS_RETIRED, 400}, {COUNT_SLOTS_RECOVERY, 50}, NONE}, 20, "frontend bound"},
	{{{COUNT_SLOTS_RECOVERY, 50}, {COUNT_SLOTS_ISSUED, 500}, {COUNT_SLOTS, 1000}, {COUNT_SLOTS_RETIRED, 400}, {COUNT_SLOTS_BUBBLES, 200}, NONE}, 15, "bad speculation"},
	{{{COUNT_SLOTS_ISSUED, 500}, {COUNT_SLOTS_RECOVERY, 50}, {COUNT_SLOTS, 1000}, {COUNT_SLOTS_RETIRED, 400}, {COUNT_SLOTS_BUBBLES, 200}, NONE}, 25, "backend bound"},
	{{{COUNT_SLOTS_RETIRED, 400}, {COUNT_SLOTS, 1000}, CLOCK, NONE}, 200, "/sec"},
}, more[] = {
	{{{COUNT_INSTRUCTIONS, 4e9}, {COUNT_STALLED_FRONT, 1e9}, {COUNT_STALLED_BACK, 3e9}, NONE}, 0.75, "stalled cycles per insn"},
	{{{COUNT_INSTRUCTIONS, 4e9}, {COUNT_STALLED_FRONT, 1e9}, NONE}, 0.25, "stalled cycles per insn"},
	{{{COUNT_INSTRUCTIONS, 4e9}, CYCLES, NONE}, 0, NULL},
	{{{COUNT_INSTRUCTIONS, 0}, {COUNT_STALLED_FRONT, 1e9}, NONE}, 0, NULL},
	{{CYCLES, {COUNT_STALLED_FRONT, 1e9}, NONE}, 0, NULL},
};
/* clang-format on */

static void test_worlds(void)
{
	struct counts c;
	struct count_metric m;

	make(&c, (const struct event[]){
			 {COUNT_INSTRUCTIONS, 9e9},
                         CYCLES, CLOCK, NONE
        });
	c.events[1].world = 7;
	CHECK(count_metric(&c, 0, 0, &m) && !strcmp(m.unit, "G/sec"),
	      "other modes, or cores: not related");
	c.events[1].is_supported = false;
	CHECK(!count_metric(&c, 1, 0, &m), "what this machine does not have has no metric");
	counts_done(&c);
}

int main(void)
{
	struct counts c;
	struct count_metric m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *unit = cases[i].unit;

		make(&c, cases[i].events);
		CHECK(count_metric(&c, 0, 0, &m) == (unit != NULL) &&
			      (!unit ||
			       (fabs(m.value - cases[i].value) < 1e-9 && !strcmp(m.unit, unit))),
		      "case %zu: %g %s", i, cases[i].value, unit ? unit : "none");
		counts_done(&c);
	}
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		const char *unit = more[i].unit;

		make(&c, more[i].events);
		CHECK(count_metric_more(&c, 0, 0, &m) == (unit != NULL) &&
			      (!unit ||
			       (fabs(m.value - more[i].value) < 1e-9 && !strcmp(m.unit, unit))),
		      "a second one, case %zu: %g", i, more[i].value);
		counts_done(&c);
	}
	test_worlds();
	return tap_done();
}
