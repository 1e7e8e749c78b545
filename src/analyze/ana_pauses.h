/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_PAUSES_H
#define ANALYZE_ANA_PAUSES_H

#include "analyze/analyze.h"
#include "base/map_u64.h"

/** A time in which nothing was recorded of a CPU or thread. */
struct ana_pause {
	struct clew_perf_ns from, to;
	uint32_t cpu, tid; /* all ones: any, or unknown */
	const char *why;   /* static words */
};

/*
 * The pauses of a recording: the kernel throttled an event, trace found its buffer full, or other
 * events paused it.
 *
 *	struct ana_pauses x = {.take = take, .ctx = ctx};
 *	... ana_pauses_throttle(&x, event) of each THROTTLE and UNTHROTTLE ...
 *	ana_pauses_end(&x, summary, first, last)
 */
struct ana_pauses {
	/* Both times are known, and from is before to. What it returns ends the walk. */
	enum clew_err (*take)(void *ctx, const struct ana_pause *p);
	void *ctx;
	struct map_u64 throttled; /* stream id of an event -> since when; 0: it runs */
};

enum clew_err ana_pauses_throttle(struct ana_pauses *x, const struct ana_event *e);

/** After the last record: what @p run knows besides, in its order, between @p first and @p last.
 * Times of the latter are those of samples. */
enum clew_err ana_pauses_end(struct ana_pauses *x, const struct ana_summary *run,
			     struct clew_perf_ns first, struct clew_perf_ns last);

void ana_pauses_done(struct ana_pauses *x);

#endif
