/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_RUNS_H
#define WHO_WHO_RUNS_H

#include <clew/time.h>

#include "base/vec.h"
#include "who/who_ids.h"

/*
 * Who ran on a CPU, and when: a line of runs, each of which ends where the next one begins. Runs
 * are packed to about 5 bytes each, in groups; only an index of the groups has to be in memory. A
 * cursor reads them one after the other, or searches: among the groups, then in the blocks of one.
 */

/** Storage for groups that do not fit into memory: a file of the caller. */
struct who_spill {
	/** Append. @return the offset, a multiple of 8; UINT64_MAX: there is no room. */
	uint64_t (*put)(void *ctx, const void *data, size_t bytes);
	/** Map everything that was put; lives as long as ctx. NULL: it cannot be read. */
	const uint8_t *(*map)(void *ctx);
	/** A hint: what was read so far is not needed again soon. */
	void (*rest)(void *ctx);
	void *ctx;
};

/** Shared by all lines. Zeroed: everything stays in memory. */
struct who_run_store {
	struct who_spill spill; /* put NULL: none */
	uint64_t keep_bytes;    /* what may be in memory; all else goes to spill */
	uint64_t kept_bytes, spilled_bytes, index_bytes;
};

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

enum { WHO_GROUP_BLOCKS = 16 };

struct who_runs {
	struct who_run_store *store; /* of the writer; NULL: all in memory */
	struct {
		VEC(struct who_run_group {
			struct clew_perf_ns from; /* of its first run */
			/* The address of its blocks; a spilled one is odd, and counts from
			   the begin of what was put until who_runs_map(). */
			uintptr_t where;
		});
	} groups;
	/* The group that is being filled */
	struct who_run_block {
		struct clew_perf_ns from; /* of its first run */
		uint64_t at;              /* in bytes */
	} blocks[WHO_GROUP_BLOCKS];
	struct {
		VEC(uint8_t);
	} bytes;
	uint64_t nr;
	struct clew_perf_ns last; /* from of the last one */
	struct who_local_id last_id;
};

/** @p r->from: no earlier than the last one's, or it counts as that. @return false: no memory. */
bool who_runs_add(struct who_runs *l, const struct who_run *r);
/** After the last run, before any cursor. @return false: no memory. */
bool who_runs_end(struct who_runs *l);
/** @p base: of who_spill.map(). */
void who_runs_map(struct who_runs *l, const uint8_t *base);
void who_runs_done(struct who_runs *l);

/** A place in a line. */
struct who_run_cursor {
	const struct who_runs *line;
	const uint8_t *at;              /* the bytes after run, */
	uint64_t index;                 /* and its number */
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
/** On the run that holds @p time. @return false: it is before the first one. O(log runs). */
bool who_runs_find(const struct who_runs *l, struct clew_perf_ns time, struct who_run_cursor *c);
/** When the run ends; none: it is the last one. */
static inline struct clew_perf_ns who_runs_to(const struct who_run_cursor *c)
{
	return c->has_next ? c->next.from : clew_perf_ns_none();
}

#endif
