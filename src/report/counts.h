/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_COUNTS_H
#define REPORT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/arena.h"

/*
 * What events have counted, added up by CPU, core, socket, thread or all in all, over one run or
 * several: a table of events and parts. Counts of events that shared a counter with others are
 * scaled to all of the time that they were enabled.
 */

/** What an event is for the metrics of others. */
enum count_kind {
	COUNT_OTHER,
	COUNT_CLOCK, /* ns */
	COUNT_CYCLES,
	COUNT_INSTRUCTIONS,
	COUNT_BRANCHES,
	COUNT_BRANCH_MISSES,
	COUNT_STALLED_FRONT,
	COUNT_STALLED_BACK,
	COUNT_CACHE_REFS,
	COUNT_CACHE_MISSES,
	COUNT_L1D_LOADS,
	COUNT_L1D_MISSES,
	COUNT_L1I_LOADS,
	COUNT_L1I_MISSES,
	COUNT_LLC_LOADS,
	COUNT_LLC_MISSES,
	COUNT_DTLB_LOADS,
	COUNT_DTLB_MISSES,
	COUNT_ITLB_LOADS,
	COUNT_ITLB_MISSES,
	COUNT_TOP_RETIRING, /* slots of a pipeline, as cores count them in one group */
	COUNT_TOP_BAD_SPEC,
	COUNT_TOP_FRONT,
	COUNT_TOP_BACK,
	COUNT_SLOTS, /* as older ones do, separately: all of them, */
	COUNT_SLOTS_ISSUED,
	COUNT_SLOTS_RETIRED,
	COUNT_SLOTS_BUBBLES,  /* not delivered by the front end */
	COUNT_SLOTS_RECOVERY, /* lost after a wrong speculation */
};

enum count_by { COUNT_BY_ALL, COUNT_BY_CPU, COUNT_BY_CORE, COUNT_BY_SOCKET, COUNT_BY_THREAD };

/** The mean of several runs, and how far it may be off. Zeroed = none. */
struct count_stats {
	uint64_t nr;
	double mean, squares; /* the sum of squared deviations */
};

void count_stats_add(struct count_stats *s, double value);

/** The standard error of the mean, as a part of it in %; 0 with one run. */
double count_stats_percent(const struct count_stats *s);

/** The same, in units of the mean. */
double count_stats_error(const struct count_stats *s);

struct count_event {
	const char *name; /* borrowed */
	enum count_kind kind;
	uint64_t world;    /* user, kernel, guest: metrics are of events of the same */
	bool is_supported; /* this machine has it */
	double scale;      /* one count is so many of @unit; 0: 1. Cells are scaled */
	const char *unit;  /* borrowed; NULL: none */
};

/** Of a part, what its kind has: cpu; socket, die, core; tid, comm. */
struct count_part {
	int cpu, socket, die, core, tid;
	uint32_t nr_cpus;
	const char *comm; /* borrowed */
};

struct count_cell {
	struct count_stats value, enabled_ns, running_ns;
};

/** Zeroed = empty. */
struct counts {
	struct arena memory;
	enum count_by by;
	struct count_event *events;
	struct count_part *parts;
	struct count_cell *cells; /* [event * nr_parts + part] */
	uint32_t nr_events, nr_parts, nr_runs;
	struct count_stats elapsed_ns;
	uint64_t at_ns;           /* an interval: its end, since the start */
	uint64_t user_ns, sys_ns; /* of the command */
	bool has_times;           /* they are known */
};

/** Room for so many, all zero. @return CLEW_NO_MEMORY. */
enum clew_err counts_make(struct counts *c, uint32_t nr_events, uint32_t nr_parts);

/** One run more, or an interval. */
void counts_add(struct counts *c, uint32_t event, uint32_t part, double value, uint64_t enabled_ns,
		uint64_t running_ns);

/** Before the next interval. */
void counts_clear(struct counts *c);

static inline const struct count_cell *counts_at(const struct counts *c, uint32_t event,
						 uint32_t part)
{
	return &c->cells[(uint64_t)event * c->nr_parts + part];
}

/** Counted at all: not while another event had the counter, or no task ran. */
static inline bool count_is_counted(const struct count_cell *cell)
{
	return cell->running_ns.mean > 0 && cell->enabled_ns.mean > 0;
}

/** A count in relation to another. */
struct count_metric {
	double value;
	const char *unit;   /* "CPUs utilized", "K/sec", "of all branches" */
	unsigned int width; /* and decimals, as perf prints it */
	unsigned int decimals;
	bool is_percent;
};

/** @return false: it has none, as what it would relate to was not counted. */
bool count_metric(const struct counts *c, uint32_t event, uint32_t part, struct count_metric *ret);

/** Another line for the same event: stalled cycles per instruction. */
bool count_metric_more(const struct counts *c, uint32_t event, uint32_t part,
		       struct count_metric *ret);

void counts_done(struct counts *c);

#endif
