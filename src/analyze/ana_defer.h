/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_DEFER_H
#define ANALYZE_ANA_DEFER_H

#include "analyze/ana_ahead.h"
#include "analyze/analyze.h"
#include "stitch/stitch.h"

struct ana_user;

/* Samples and their deferred user stacks. */

struct ana_defer {
	enum ana_defer_mode {
		ANA_DEFER_OFF,   /* nothing seen that would need it */
		ANA_DEFER_AHEAD, /* a second reader goes ahead for the stacks */
		ANA_DEFER_QUEUE, /* a stream: records wait for their turn */
	} mode;
	struct ana_ahead ahead; /* AHEAD */
	struct stitch *stitch;  /* QUEUE */
	size_t nr_evsels;       /* looked at */
};

bool ana_defer_is_wanted(const struct analyze *a);
/** Start where the events known by now ask for it. */
enum clew_err ana_defer_check(struct analyze *a);
/** A mark was seen that no event announced. */
enum clew_err ana_defer_start(struct analyze *a);
/** QUEUE: does @p r have to be put in, or has it no place in the order? */
bool ana_defer_waits(const struct perf_record *r, struct clew_perf_ns time);
enum clew_err ana_defer_take(struct analyze *a, const struct perf_record *r,
			     struct clew_perf_ns time);
/** A record that has waited. */
struct ana_due {
	struct perf_record record; /* the caller releases its block */
	struct clew_perf_ns time;
	struct stitch_item item; /* item.item: NULL */
};
/** QUEUE: the next that may go; false: none for now. */
bool ana_defer_next(struct analyze *a, struct ana_due *ret);
/** The stream is over: all may go. */
void ana_defer_end(struct analyze *a);
/** The outcome of the sample with a cookie that is played now. */
enum clew_err ana_defer_ask(struct analyze *a, const struct perf_record *r, struct ana_user *ret);
/** NULL: none is at work. */
const struct stitch *ana_defer_stitch(const struct analyze *a);
void ana_defer_done(struct ana_defer *d);

#endif
