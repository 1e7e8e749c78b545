/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_RUNS_H
#define WHO_WHO_RUNS_H

#include <clew/time.h>

#include "base/vec.h"
#include "who/who_ids.h"

/*
 * Who ran on a CPU from when to when: a line of runs, each up to the next one. Kept packed, about 5
 * bytes each, and read by a cursor: next to where it was, or found by a search among the blocks.
 */

enum who_run_kind {
	WHO_RUN_NONE,   /* nothing is known */
	WHO_RUN_THREAD, /* id ran */
	WHO_RUN_SWITCH, /* from one to the next; both ends included */
	WHO_RUN_HOLE,   /* records were lost; both ends included */
};

/** How the switch from a thread was recorded. */
enum who_run_end {
	WHO_END_UNSEEN,
	WHO_END_PREEMPTED,
	WHO_END_SLEEPS,
	WHO_END_DEAD /* and its id was -1 */
};

struct who_run {
	enum who_run_kind kind;
	enum who_run_end end;
	bool is_backward; /* nothing but the switch from it names the thread */
	bool is_sched;    /* of sched_switch samples alone: root, no id */
	bool has_root;
	struct who_local_id id;
	struct who_root_id root; /* by sched_switch */
	struct clew_perf_ns from;
};

struct who_runs {
	struct {
		VEC(uint8_t);
	} bytes;
	struct {
		VEC(struct who_run_block {
			struct clew_perf_ns from; /* of its first run */
			uint64_t at;              /* in bytes */
		});
	} blocks;
	uint64_t nr;
	struct clew_perf_ns last; /* from of the last one */
	struct who_local_id last_id;
};

/** @p r->from: no earlier than the last one's, or it counts as that. @return false: no memory. */
bool who_runs_add(struct who_runs *l, const struct who_run *r);
void who_runs_done(struct who_runs *l);
uint64_t who_runs_bytes(const struct who_runs *l);

/** A place in a line. */
struct who_run_cursor {
	const struct who_runs *line;
	uint64_t at, index;             /* of what follows run */
	struct who_run run, prev, next; /* prev, next: kind NONE at the ends */
	bool has_prev, has_next;
	struct who_local_id last_id;
};

/** On the first run. @return false: there is none. */
bool who_runs_first(const struct who_runs *l, struct who_run_cursor *c);
/** @return false: it is on the last one. O(1). */
bool who_runs_next(struct who_run_cursor *c);
/** On a run that begins before @p time, less than two blocks away, or on the first. O(log runs). */
bool who_runs_seek(const struct who_runs *l, struct clew_perf_ns time, struct who_run_cursor *c);
/** When the run ends; none: it is the last one. */
static inline struct clew_perf_ns who_runs_to(const struct who_run_cursor *c)
{
	return c->has_next ? c->next.from : clew_perf_ns_none();
}

#endif
