/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TOP_TOP_H
#define TOP_TOP_H

#include "analyze/analyze.h"
#include "record/plan/rec_sink.h"
#include "rows/report_feed.h"

/*
 * A recording analyzed while it is made, in memory that does not grow:
 *
 *	t = top_new(&opts)
 *	top_start(t)                        the thread that analyzes
 *	rec_session_run() with top_sink(t) and --control top_control(t), in the caller's thread;
 *	  meanwhile in another, which draws:
 *	  while ((view = top_wait(t, view, -1, &is_end)) != NULL) ...; at any time top_stop(t)
 *	top_finish(t, &diag)
 *	top_free(t)
 *
 * At each refresh the counts so far decay, those of what is new are added, and what has become
 * small is dropped. A view that no one takes is not replaced: the next one then covers more time.
 */
struct top;

enum top_level { TOP_USER, TOP_KERNEL, TOP_GUEST, TOP_OTHER, TOP_NR_LEVELS };

enum { TOP_MIN_BYTES = 32 << 20, TOP_DEFAULT_BYTES = 512 << 20 };

struct top_opts {
	struct ana_opts analysis;     /* symbols.budget is set here */
	struct report_feed_opts feed; /* budget is set here; texts are borrowed */
	uint64_t max_bytes; /* at least TOP_MIN_BYTES: what all of it may take; half of that is for
			       symbols */
	uint64_t refresh_ns, first_ns; /* between refreshes; to the first one, 0: the same */
	bool keeps_history;            /* for top_save() */
	bool is_zeroed;                /* nothing is left of earlier refreshes */
};

/** What one refresh shows: only read, by any thread; feed by one thread at a time, as
 * report_table_make() writes into it. */
struct top_view {
	struct report_feed *feed; /* finished */
	uint64_t number;          /* from 1 */
	uint64_t interval_ns;     /* of what is new in it */
	uint64_t samples, lost;   /* in that time */
	uint64_t all_samples, all_lost;
	uint64_t by_level[TOP_NR_LEVELS]; /* samples of the interval */
	uint64_t cpu_ns, all_cpu_ns;      /* that this process used */
	uint64_t stream;                  /* which analysis it is of, from 1 */
	unsigned int nr_users;            /* top.c's own */
};

/** @return NULL: memory is short, or *ret_errno. */
struct top *top_new(const struct top_opts *opts, int *ret_errno);

struct rec_sink top_sink(struct top *t);
/** rec_options.control; lives as long as @p t. With it rec_options.switch_output.on_signal. */
const char *top_control(const struct top *t);

/** @return false: no thread. */
bool top_start(struct top *t);

/** A newer view than @p old (NULL: any), which is released. Waits at most @p ms, < 0: as long as it
 * takes. @return NULL: there is none; *ret_is_end: nor will there be. */
struct top_view *top_wait(struct top *t, struct top_view *old, int ms, bool *ret_is_end);
void top_release(struct top *t, struct top_view *view);

/* Any thread. */
void top_stop(struct top *t);
void top_set_refresh(struct top *t, uint64_t ns);
void top_set_zeroed(struct top *t, bool is_zeroed);
void top_pause(struct top *t, bool is_paused);

enum { TOP_SAVED_SECONDS = 10 };
/**
 * Append the last TOP_SAVED_SECONDS, or what there is room for, as a recording from a pipe. Also
 * where the recording has ended. @return false: there is nothing, or memory is short.
 */
bool top_save(struct top *t, struct buf *ret);

/** The recording has ended: what is left makes the last view. Waits for the analysis; the views
 * can still be taken. @return CLEW_OK; what ended the analysis early. */
enum clew_err top_finish(struct top *t, struct clew_diag *diag);
void top_free(struct top *t);

#endif
