/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PAGE_PAGE_INTERVALS_H
#define FORMAT_PAGE_PAGE_INTERVALS_H

#include "analyze/analyze.h"
#include "base/map_u64.h"
#include "base/vec.h"

/*
 * Intervals of threads, for the timeline: running, runnable, sleeping, from context switches; of
 * traced recordings, levels and calls (page_trace.c). They wait in a file without a name, in the
 * order of their ends; at most PAGE_MAX_INTERVALS of each sort are shown, the longest.
 */
enum page_interval_kind { PAGE_RUNNING, PAGE_RUNNABLE, PAGE_SLEEPING, PAGE_NR_INTERVAL_KINDS };

struct page_interval {
	uint64_t end, length; /* ns */
	uint64_t who;         /* pid and tid; of levels and calls the thread's number */
	uint32_t thread;      /* its number, when read */
	uint32_t place;       /* of a level the CPU, of a call the node */
	uint8_t kind;         /* of a level page_level_of() */
};

enum { PAGE_MAX_INTERVALS = 2000000, PAGE_INTERVAL_BATCH = 1024 };

struct page_intervals {
	int fd, os_errno; /* fd: 0: no file yet */
	struct page_interval batch[PAGE_INTERVAL_BATCH];
	size_t nr_waiting;
	uint64_t nr, last;       /* the newest end */
	struct map_u64 state_of; /* pid and tid -> index */
	struct {
		VEC(struct page_interval);
	} states; /* end: since when */
	/* Of threads with samples, after page_intervals_finish(): */
	uint64_t nr_shown, nr_hidden; /* hidden: shorter than @least */
	uint64_t least;
	uint64_t max_gap, max_length; /* of those that are shown */
};

void page_intervals_done(struct page_intervals *v);

/** Add one; its end is not before that of the one added last. CLEW_OS: v->os_errno. */
enum clew_err page_intervals_put(struct page_intervals *v, const struct page_interval *i);

/** A context switch or the end of a thread. @p first: intervals begin there at the earliest; 0: no
 * sample was met yet. CLEW_OS: v->os_errno. */
enum clew_err page_intervals_record(struct page_intervals *v, const struct ana_event *e,
				    uint64_t first);

/** All that is still open ends at @p last, or with the last record after it: ends never go back. @p
 * thread_of: numbers of the threads with samples: others are skipped. @p max of these are shown,
 * the longest. */
enum clew_err page_intervals_finish(struct page_intervals *v, uint64_t first, uint64_t last,
				    const struct map_u64 *thread_of, uint64_t max);

/** All were added by page_intervals_put(). */
enum clew_err page_intervals_choose(struct page_intervals *v, uint64_t first,
				    const struct map_u64 *thread_of, uint64_t max);

/** One after the other, all of them, also while other page_intervals are written. */
struct page_interval_reader {
	struct page_intervals *of;
	struct page_interval batch[PAGE_INTERVAL_BATCH];
	uint64_t at; /* of those read from the file */
	size_t nr, next;
};
/** NULL: the end; or of->os_errno. Valid until the next call. */
struct page_interval *page_intervals_next(struct page_interval_reader *r);

/** Call @p take for each that is shown, in the order of their ends. @p thread_of: NULL: who is the
 * thread's number. */
enum clew_err page_intervals_each(struct page_intervals *v, const struct map_u64 *thread_of,
				  void (*take)(void *ctx, const struct page_interval *i),
				  void *ctx);

#endif
