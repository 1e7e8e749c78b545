/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_HISTORY_H
#define WHO_WHO_HISTORY_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "who/who_guests.h"
#include "who/who_maps.h"
#include "who/who_timeline.h"

/*
 * Threads, processes and mappings of code over time: what `who` knows of now, kept so that it can
 * be asked for any time once all records were taken. Which of them ran is who_ran.h's.
 *
 * A space goes from one version to the next only where code is replaced: what is added to it leaves
 * its version as it was, as nothing can have run there before.
 */

/** Mappings of code of one space, from one replacement to the next: it only grows. */
struct who_version {
	struct who_maps *maps;
	uint32_t nr_spaces; /* that have it now: above 1, one that adds to it gets its own */
	uint32_t before;    /* what the exec before it replaced; WHO_NONE */
	/* Patches up to here are in; later ones where nothing was before. */
	struct clew_perf_ns time;
	const void *patches; /* of who_history_split(); NULL: none */
	uint32_t pid;        /* of a process's code, after who_history_close(); WHO_NONE */
	bool is_kernel, is_guest;
};

struct who_space_line {
	struct who_timeline versions;
	struct who_timeline execs; /* value: how many so far */
	uint32_t pid;              /* of the first process that had it */
};

enum who_task_start {
	WHO_TASK_MET,    /* it ran already when it was first mentioned */
	WHO_TASK_FORKED, /* at that time */
	WHO_TASK_REBORN, /* some time before, after the end of the one that had the number */
};

/** One use of a thread's number. */
struct who_task {
	struct clew_perf_ns time; /* from then on; 0: mentioned by what the recorder found */
	uint32_t pid;
	uint32_t space : 30;
	uint32_t start : 2; /* enum who_task_start */
};

struct who_thread_line {
	uint32_t tid;
	bool has_run;        /* a switch names it: with the pid of the recorder's records, */
	bool has_other_pid;  /* or with another one */
	bool has_found_maps; /* the recorder found mappings of the process */
	struct {
		VEC(struct who_task);
	} tasks;
	struct who_timeline comms; /* value: in texts */
};

struct who_history {
	struct who_map_pool pool;
	struct intern texts;
	struct map_u64 by_tid; /* -> threads */
	struct map_u64 by_pid; /* -> the space it has at the end of what was read */
	struct {
		VEC(struct who_thread_line);
	} threads;
	struct {
		VEC(struct who_space_line);
	} spaces;
	struct {
		VEC(struct who_version);
	} versions;
	size_t nr_taken;
	uint32_t kernel; /* its space */
	struct who_guests guests;
	struct budget_account account;
	bool is_cut;
	struct clew_perf_ns cut_at; /* is_cut: the budget had no room for what came from here on */
};

/** Was everything of @p time kept? */
static inline bool who_history_knows(const struct who_history *h, struct clew_perf_ns time)
{
	return !h->is_cut || time.ns < h->cut_at.ns;
}

/** @p nr_empty: the first versions, which have no code, are the caller's to use. @p budget: NULL:
 * no limit. CLEW_OK or CLEW_NO_MEMORY, as the others. */
enum clew_err who_history_init(struct who_history *h, uint32_t nr_empty, struct budget *budget);
void who_history_done(struct who_history *h);

/** A record of @p time was taken: charge what it made the history grow by, and @p other_bytes in
 * all that the caller keeps. Where there is no room that is the last one. */
void who_history_charge(struct who_history *h, struct clew_perf_ns time, uint64_t other_bytes);

/* Records, in order of time. */
enum clew_err who_history_mmap(struct who_history *h, struct clew_perf_ns time, bool is_kernel,
			       const struct perf_mmap *m);
enum clew_err who_history_comm(struct who_history *h, struct clew_perf_ns time,
			       const struct perf_comm *c);
enum clew_err who_history_fork(struct who_history *h, struct clew_perf_ns time,
			       const struct perf_task *t);
/** The thread @p tid of @p pid runs. */
enum clew_err who_history_run(struct who_history *h, struct clew_perf_ns time, uint32_t pid,
			      uint32_t tid);

/** A switch names the thread @p tid of @p pid. */
enum clew_err who_history_seen(struct who_history *h, struct clew_perf_ns time, uint32_t pid,
			       uint32_t tid);
/** It runs, and the one that had the number has ended: no record says where it comes from. */
enum clew_err who_history_reborn(struct who_history *h, struct clew_perf_ns time, uint32_t pid,
				 uint32_t tid);

/** All was taken: each version knows when it began, and its owner. */
void who_history_close(struct who_history *h);

/** A space's versions are to be split. */
struct who_split {
	uint32_t space;
	struct clew_perf_ns from, to;     /* only those of a time in here; to none: no end */
	const struct clew_perf_ns *times; /* ascending: one of its own from each on, */
	size_t nr_times;
	const void *patches;          /* and all have these */
	struct clew_perf_ns known_at; /* as they were then; none: as of each version */
};
/** After who_history_close(). @return false: out of memory. */
bool who_history_split(struct who_history *h, const struct who_split *split);

/** The task that has the number @p tid at @p time; the first one before that. NULL: no such thread.
 */
const struct who_task *who_history_task(const struct who_history *h, uint32_t tid,
					struct clew_perf_ns time);
const char *who_history_comm_at(const struct who_history *h, uint32_t tid,
				struct clew_perf_ns time);

/** The thread that has a number at some time. */
struct who_object {
	uint64_t serial;        /* differs from all others' */
	struct clew_perf_ns to; /* all this holds before that; none: for good */
	uint32_t pid, space;    /* WHO_NONE: unknown */
	const char *comm;       /* NULL: unknown */
	struct clew_perf_ns comm_since;
	bool is_found;  /* comm: by what the recorder found */
	bool is_reborn; /* nothing says where it comes from */
};

/** What the recorder found in /proc, beside what the kernel wrote. */
struct who_found_counts {
	uint64_t nr_found; /* threads; the others are those that a switch names, and that were not
			      born while recording: */
	uint64_t nr_run, nr_missing, nr_other_pid;
	uint64_t nr_same_pid; /* and not the first of their process */
};
/** O(threads). */
void who_history_count_found(const struct who_history *h, struct who_found_counts *ret);
/** Did the recorder find it, and no mappings of its process? */
bool who_history_is_found_kthread(const struct who_history *h, uint32_t tid);

/** @p ignores_found: what the recorder found in /proc is of other threads. @p time none: at the
 * end. @return false: nothing is known of it then; all of @p ret but serial and to is unknown. */
bool who_history_object(const struct who_history *h, uint32_t tid, struct clew_perf_ns time,
			bool ignores_found, struct who_object *ret);

#endif
