/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TOP_TOP_IMPL_H
#define TOP_TOP_IMPL_H

#include "base/budget.h"
#include "os/thread.h"
#include "top/top.h"
#include "top/top_stream.h"

/* top.c: the threads' common side; top_analysis.c: the thread that analyzes. */

struct top {
	struct top_opts opts; /* but refresh_ns, is_zeroed: as they were given */
	struct top_stream *stream;
	int control_read, control_write; /* of a pipe */
	char control[32];
	struct os_thread *thread;

	struct os_lock *lock; /* guards up to analysis */
	uint64_t refresh_ns;
	bool is_zeroed, is_ended, is_stopped;
	struct top_view *view; /* the newest; NULL: none yet */
	bool is_taken;         /* by the one who draws */

	/* --- of the thread that analyzes --- */
	struct {
		struct budget symbols, state, rows;
		uint64_t
			state_base; /* what state held at the stream's first refresh; 0: none yet */
		struct analyze *analyze; /* of this stream; NULL: none */
		struct dso_store *dsos;
		struct perf_evlist events;
		struct report_feed *live;          /* since the last refresh */
		struct top_view *shown;            /* that the next one is made of; NULL: none */
		struct top_view next;              /* its counts so far */
		uint64_t lost_before;              /* of the streams before */
		uint64_t lost_at, cpu_at, time_at; /* at the last refresh */
		uint64_t nr_marks;                 /* read of this stream */
		bool is_switching;
		struct clew_diag diag;
	} a;
};

/** One command of rec_options.control: a line. */
void top_send(struct top *t, const char *command);

/** Hand @p v to the one who draws; takes it. */
void top_publish(struct top *t, struct top_view *v);
/** Has the newest view been taken? */
bool top_is_taken(struct top *t);
/** Wait until it is, or no one will take it: after top_stop(). */
void top_wait_taken(struct top *t);
/** One user more, until top_release(). @return @p v. */
struct top_view *top_hold(struct top *t, struct top_view *v);

/** How much the stream may hold. */
uint64_t top_stream_bytes(const struct top_opts *o);

void top_analysis_main(void *top);
void top_analysis_done(struct top *t);

#endif
