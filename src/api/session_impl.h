/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_SESSION_IMPL_H
#define API_SESSION_IMPL_H

#include <clew/session.h>

#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "format/script/tracepoint.h"
#include "os/file.h"

/** Events of the pipeline as public samples: a frame for each location, an array for each chain,
 * made once an epoch. */
struct session_samples {
	uint64_t epoch;
	struct arena memory; /* of frames and chains */
	struct {
		VEC(const struct clew_frame *);
	} frames; /* by ana_loc.id; NULL: not made yet */
	struct {
		VEC(const struct clew_frame *const *);
	} chains; /* by ana_chain.id */
	struct arena batch;
	/* Of clew_session_next(): samples that wait, and memory of epochs before that they use. */
	struct {
		VEC(struct clew_sample);
	} waiting;
	size_t next;
	struct {
		VEC(struct arena);
	} retired;
};

struct session_threads {
	struct arena memory;
	struct map_u64 index; /* pid and tid -> place */
	struct {
		VEC(struct clew_thread *);
	} all;
	struct clew_thread *last;
};

struct session_events {
	struct arena memory;
	struct intern texts;
	struct {
		VEC(struct clew_event *);
	} all;
};

enum session_pass {
	SESSION_NEW,
	SESSION_PULLING, /* by clew_session_next() */
	SESSION_OVER,    /* it has come to the end */
	SESSION_OTHER,   /* all was read by another function */
};

struct clew_session {
	struct os_map map;
	int fd; /* of a stream */
	struct budget budget;
	struct perf_input input; /* data NULL: a stream */
	struct ana_opts opts;
	struct dso_store *dsos;
	struct analyze *analysis;
	enum session_pass pass;
	struct session_samples samples;
	struct session_threads threads;
	struct session_events events;
	struct tracepoints *tracepoints; /* made when first asked for */
	struct clew_diag end;            /* of the pass, once that is over */
	struct clew_summary summary;
	struct clew_left_out left_out;
	/* During clew_session_each(). */
	bool is_running;
	enum clew_err (*take)(void *ctx, const struct clew_sample *sample);
	void *ctx;
	enum clew_err taken; /* what take returned that ended the pass */
};

/* --- session_samples.c --- */

/** Of @p e, to live until the batch ends; with @p keeps longer, until session_samples_drop(). */
enum clew_err session_sample_of(struct clew_session *s, const struct ana_event *e, bool keeps,
				struct clew_sample *ret);
/** The events that follow are of @p epoch. @return false: out of memory. */
bool session_samples_begin(struct session_samples *m, uint64_t epoch);
/** What was made for a batch is not used any more. */
void session_samples_drop(struct session_samples *m);
void session_samples_done(struct session_samples *m);

/* --- session_lists.c --- */

/** Make the events known that the recording has so far. @return false: out of memory. */
bool session_events_update(struct clew_session *s);
/** Count a sample of its thread. @return false: out of memory. */
bool session_threads_note(struct session_threads *t, const struct ana_event *e);
void session_threads_done(struct session_threads *t);

#endif
