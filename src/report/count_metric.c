/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/counts.h"

/* A part of what it is a part of, in %; or so many for each. */
struct relation {
	enum count_kind of;
	const char *unit;
	bool is_ratio; /* not in % */
};

static const struct relation relations[] = {
	[COUNT_INSTRUCTIONS] = {COUNT_CYCLES,     "insn per cycle",             true },
	[COUNT_BRANCH_MISSES] = {COUNT_BRANCHES,   "of all branches",            false},
	[COUNT_STALLED_FRONT] = {COUNT_CYCLES,     "frontend cycles idle",       false},
	[COUNT_STALLED_BACK] = {COUNT_CYCLES,     "backend cycles idle",        false},
	[COUNT_CACHE_MISSES] = {COUNT_CACHE_REFS, "of all cache refs",          false},
	[COUNT_L1D_MISSES] = {COUNT_L1D_LOADS,  "of all L1-dcache accesses",  false},
	[COUNT_L1I_MISSES] = {COUNT_L1I_LOADS,  "of all L1-icache accesses",  false},
	[COUNT_LLC_MISSES] = {COUNT_LLC_LOADS,  "of all LL-cache accesses",   false},
	[COUNT_DTLB_MISSES] = {COUNT_DTLB_LOADS, "of all dTLB cache accesses", false},
	[COUNT_ITLB_MISSES] = {COUNT_ITLB_LOADS, "of all iTLB cache accesses", false},
};

/* The first event of the kind that counted in the same part and world. NULL: none. A clock runs in
 * all worlds. */
static const struct count_cell *find(const struct counts *c, enum count_kind kind, uint64_t world,
				     uint32_t part)
{
	for (uint32_t i = 0; i < c->nr_events; i++) {
		const struct count_event *e = &c->events[i];
		const struct count_cell *cell = counts_at(c, i, part);

		if (e->kind == kind && e->is_supported && count_is_counted(cell) &&
		    (kind == COUNT_CLOCK || e->world == world))
			return cell;
	}
	return NULL;
}

static bool has_kind(const struct counts *c, enum count_kind kind, uint64_t world, uint32_t part)
{
	return find(c, kind, world, part) != NULL;
}

/* Its mean; 0: none. */
static double mean_of(const struct counts *c, enum count_kind kind, uint64_t world, uint32_t part)
{
	const struct count_cell *cell = find(c, kind, world, part);

	return cell ? cell->value.mean : 0;
}

static bool set_rate(double value, double clock_ns, struct count_metric *ret)
{
	static const char *const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
	double rate = value / clock_ns * 1e9;
	unsigned int i = 0;

	if (!(clock_ns > 0))
		return false;
	for (; rate >= 1000 && i < 3; i++)
		rate /= 1000;
	*ret = (struct count_metric){rate, units[i], 8, 3, false};
	return true;
}

static bool set_relation(const struct relation *r, double value, double base,
			 struct count_metric *ret)
{
	if (!(base > 0))
		return false;
	*ret = (struct count_metric){value / base * (r->is_ratio ? 1 : 100), r->unit, 7, 2,
				     !r->is_ratio};
	return true;
}

/* --- slots of the pipeline --- */

/* Of a core that counts the four in one group: they are all slots. */
static bool set_top(const struct counts *c, const struct count_event *e, double value,
		    uint32_t part, struct count_metric *ret)
{
	static const char *const names[] = {
		[COUNT_TOP_RETIRING] = "Retiring",
		[COUNT_TOP_BAD_SPEC] = "Bad Speculation",
		[COUNT_TOP_FRONT] = "Frontend Bound",
		[COUNT_TOP_BACK] = "Backend Bound",
	};
	double sum = 0;

	for (enum count_kind k = COUNT_TOP_RETIRING; k <= COUNT_TOP_BACK; k++) {
		if (!has_kind(c, k, e->world, part))
			return false;
		sum += mean_of(c, k, e->world, part);
	}
	*ret = (struct count_metric){sum > 0 ? value / sum * 100 : 0, names[e->kind], 8, 1, true};
	return sum > 0;
}

static double above_zero(double v)
{
	return v > 0 ? v : 0;
}

/* Of one that counts them separately. What was neither issued nor missing waited for the back
 * end. */
static bool set_slots(const struct counts *c, const struct count_event *e, uint32_t part,
		      struct count_metric *ret)
{
	static const char *const names[] = {
		[COUNT_SLOTS_ISSUED] = "backend bound",
		[COUNT_SLOTS_RETIRED] = "retiring",
		[COUNT_SLOTS_BUBBLES] = "frontend bound",
		[COUNT_SLOTS_RECOVERY] = "bad speculation",
	};
	double all, retired, bubbles, wrong, value;

	for (enum count_kind k = COUNT_SLOTS; k <= COUNT_SLOTS_RECOVERY; k++)
		if (!has_kind(c, k, e->world, part))
			return false;
	all = mean_of(c, COUNT_SLOTS, e->world, part);
	retired = mean_of(c, COUNT_SLOTS_RETIRED, e->world, part);
	bubbles = mean_of(c, COUNT_SLOTS_BUBBLES, e->world, part);
	wrong = above_zero(mean_of(c, COUNT_SLOTS_ISSUED, e->world, part) - retired +
			   mean_of(c, COUNT_SLOTS_RECOVERY, e->world, part));
	value = e->kind == COUNT_SLOTS_RETIRED  ? retired
	      : e->kind == COUNT_SLOTS_BUBBLES  ? bubbles
	      : e->kind == COUNT_SLOTS_RECOVERY ? wrong
						: above_zero(all - retired - bubbles - wrong);
	*ret = (struct count_metric){all > 0 ? value / all * 100 : 0, names[e->kind], 8, 1, true};
	return all > 0;
}

bool count_metric(const struct counts *c, uint32_t event, uint32_t part, struct count_metric *ret)
{
	const struct count_event *e = &c->events[event];
	const struct count_cell *cell = counts_at(c, event, part);
	double value = cell->value.mean, clock_ns;

	if (!e->is_supported || !count_is_counted(cell))
		return false;
	if (e->kind == COUNT_CLOCK) {
		*ret = (struct count_metric){value / c->elapsed_ns.mean, "CPUs utilized", 8, 3,
					     false};
		return c->elapsed_ns.mean > 0;
	}
	clock_ns = mean_of(c, COUNT_CLOCK, e->world, part);
	if (e->kind == COUNT_CYCLES) {
		*ret = (struct count_metric){clock_ns > 0 ? value / clock_ns : 0, "GHz", 8, 3,
					     false};
		return clock_ns > 0;
	}
	if (e->kind >= COUNT_TOP_RETIRING && e->kind <= COUNT_TOP_BACK &&
	    set_top(c, e, value, part, ret))
		return true;
	if (e->kind > COUNT_SLOTS && e->kind <= COUNT_SLOTS_RECOVERY && set_slots(c, e, part, ret))
		return true;
	if (e->kind < sizeof(relations) / sizeof(*relations) && relations[e->kind].unit &&
	    set_relation(&relations[e->kind], value,
			 mean_of(c, relations[e->kind].of, e->world, part), ret))
		return true;
	return set_rate(value, clock_ns, ret);
}

/* The larger of both stalls, as perf has it: they overlap. */
bool count_metric_more(const struct counts *c, uint32_t event, uint32_t part,
		       struct count_metric *ret)
{
	const struct count_event *e = &c->events[event];
	const struct count_cell *cell = counts_at(c, event, part);
	double front, back;

	if (e->kind != COUNT_INSTRUCTIONS || !e->is_supported || !count_is_counted(cell))
		return false;
	front = mean_of(c, COUNT_STALLED_FRONT, e->world, part);
	back = mean_of(c, COUNT_STALLED_BACK, e->world, part);
	if (!(cell->value.mean > 0) || !(front > 0 || back > 0))
		return false;
	*ret = (struct count_metric){(front > back ? front : back) / cell->value.mean,
				     "stalled cycles per insn", 7, 2, false};
	return true;
}
