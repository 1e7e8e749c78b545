/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_H
#define WHO_WHO_H

#include <clew/err.h>
#include <clew/time.h>

#include "base/budget.h"
#include "base/intern.h"
#include "perfdata/perf_record.h"

/*
 * Who runs: threads, their names and their address spaces, from COMM, FORK and MMAP records in time
 * order. The state is that of the last record taken; nothing is guessed.
 */

enum {
	WHO_NONE = UINT32_MAX, /* no such pid, tid, space, index */
	/* who_map.flags of a range of the kernel's that a KSYMBOL record names */
	WHO_MAP_IS_KSYMBOL = 0x7fffffff
};

/** One mapped range. Never changed once made; lives as long as the who. */
struct who_map {
	uint64_t start, end; /* end exclusive */
	uint64_t pgoff;
	const char *path;
	uint32_t path_id; /* of the who's texts */
	uint32_t prot, flags, maj, min;
	uint64_t ino, ino_generation;
	uint8_t build_id[20], build_id_bytes; /* 0: unknown */
	bool is_kernel;
	uint32_t pid;     /* of the process that mapped it */
	void *owner_data; /* the consumer's: what it found for this map. NULL at first */
};

struct who_maps;

/** An address space: a process's, or the kernel's. */
struct who_space {
	struct who_maps *maps; /* shared with forks until changed */
	struct who_maps
		*before_exec;     /* the old program's; NULL once the new one was seen running */
	uint32_t id;              /* dense, from 0 = kernel */
	uint32_t refs;            /* threads */
	uint32_t generation;      /* grows with each change of the maps */
	uint32_t code_generation; /* grows with each change that executable ones take part in */
	struct who_map *last;     /* of the last successful lookup */
	/* The consumer's: in [code_from, code_to) the same maps hold the same code. Empty at first.
	 */
	struct clew_perf_ns code_from, code_to;
};

struct who_thread {
	uint32_t pid, tid;
	const char *comm; /* ":TID" until it is known */
	bool has_comm, is_guest;
	struct who_space *space;
};

/** The kernel writes 0 for the idle task and for tasks that the recorder's PID namespace does not
 * contain, -1 for one that is dead. */
static inline bool who_is_thread(uint32_t tid)
{
	return tid && tid != PERF_NO_TASK;
}

/** Does it come from where no thread is known? Then nothing is known of what it inherits. */
static inline bool who_is_orphan(const struct perf_task *fork)
{
	return !fork->is_recorders && !who_is_thread(fork->ptid);
}

struct who;
struct who_guests;

/**
 * @p budget (NULL: no limit) limits everything that is kept; it outlives the who. Once it is used
 * up, a new thread gets neither name nor mappings, a new name becomes who_not_kept, and a new
 * mapping is dropped.
 */
struct who *who_new(struct budget *budget);
void who_free(struct who *w);

/**
 * Do as perf does: an exec leaves the old program's maps in place until new ones cover them, so
 * that stray addresses are attributed to files that are no longer mapped. Off: exec empties the
 * space.
 */
void who_keep_maps_over_exec(struct who *w);

/** In place of a name there was no room for. */
extern const char who_not_kept[];

/** The thread, made where there is none yet. @p pid all ones: unknown. Where the budget has no room
 * for it: a thread with a pid and tid of all ones. NULL when memory is short. */
struct who_thread *who_thread_get(struct who *w, uint32_t pid, uint32_t tid);

/** The thread, or NULL. */
struct who_thread *who_thread_find(const struct who *w, uint32_t tid);

struct who_space *who_kernel(struct who *w);

/** Virtual machines. Their processes and threads are kept among those of the host. */
struct who_guests *who_guests(struct who *w);

/* Take a record in. Each returns CLEW_OK or CLEW_NO_MEMORY. */
enum clew_err who_take_comm(struct who *w, const struct perf_comm *c);
enum clew_err who_take_fork(struct who *w, const struct perf_task *t);
enum clew_err who_take_mmap(struct who *w, struct who_space *space, const struct perf_mmap *m);

/** Maps not taken because a process or the whole file had more than any real one (who_space.c), or
 * more than the budget has room for. */
uint64_t who_nr_maps_dropped(const struct who *w);

/**
 * The process runs user code again. Until then, exec has the kernel busy on behalf of the old
 * program: its call stack still starts there.
 */
void who_space_settle(struct who *w, struct who_space *s);

/** Empty who_space.code_from and code_to of all. */
void who_forget_code(struct who *w);

/** The map that covers @p addr, or NULL. O(log maps). */
struct who_map *who_space_find(struct who_space *s, uint64_t addr);

#endif
