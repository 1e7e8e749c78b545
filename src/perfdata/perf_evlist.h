/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_EVLIST_H
#define PERFDATA_PERF_EVLIST_H

#include "base/arena.h"
#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_attr.h"
#include "perfdata/perf_sample.h"

/** One event of a recording: its attr, its name and the ids its records carry. */
struct perf_evsel {
	uint32_t index; /* in the evlist */
	struct perf_attr attr;
	const char *name; /* "cycles:u", "sched:sched_switch", ...; never NULL once the file's
			     header is read */
	const char *unit; /* EVENT_UPDATE, else NULL */
	uint64_t *ids;
	uint32_t nr_ids;
	uint32_t leader; /* index of the group's leader; its own index when it leads or stands alone
			  */
	uint32_t nr_group; /* members, on a leader with GROUP_DESC; else 0 */
	const char *group_name;
};

struct perf_evlist {
	struct arena memory;
	struct budget_account account; /* of ids, and of what a pipe's header keeps */
	struct {
		VEC(struct perf_evsel *); /* the evsels do not move */
	} evsels;
	struct map_u64 by_id;                 /* id -> index */
	uint32_t nr_mmap2, nr_mmap2_build_id; /* events with mmap2; of those, with build_id */
	uint8_t grown_id_words; /* bit n: an event with records of perf_grown.h has a sample_id of
				   n words */
	struct perf_field_pos id_pos;
	bool has_common_id_pos; /* all attrs put the id at the same place, as they have to */
};

enum { PERF_EVSELS_MAX = 1 << 16, PERF_ID_MAX_WORDS = 6 };

/** Takes copies; no ids where the budget has no room. @return NULL when memory is short, or for one
 * more than PERF_EVSELS_MAX. */
struct perf_evsel *perf_evlist_add(struct perf_evlist *l, const struct perf_attr *attr,
				   const char *name, const uint8_t *ids, uint32_t nr_ids,
				   bool swap);

/** The event of a sample's or another record's id; NULL: no such id. */
struct perf_evsel *perf_evlist_by_id(const struct perf_evlist *l, uint64_t id);

/** The event a record belongs to: by its id, or the only (or first) event when records carry none.
 * NULL: unknown id, or one of an event that has its id elsewhere than the first. */
struct perf_evsel *perf_evlist_of_record(const struct perf_evlist *l, uint32_t type,
					 struct bytes body, bool swap);

/**
 * The name an attr has without any description: "cycles", "cpu-clock:u", "L1-dcache-load-misses",
 * "raw 0x1a8", "mem:0xADDR:x", with perf's modifier letters. Written to @p ret with a NUL.
 * Tracepoints: "unknown tracepoint".
 */
void perf_attr_name(const struct perf_attr *attr, char *ret, size_t size);

void perf_evlist_done(struct perf_evlist *l);

#endif
