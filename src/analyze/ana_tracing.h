/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_TRACING_H
#define ANALYZE_ANA_TRACING_H

#include "analyze/ana_intervals.h"
#include "perfdata/perf_evlist.h"
#include "perfdata/perf_id_owners.h"

/*
 * The intervals of tracing of a recording, from its records in order of time. ID_INDEX says of an
 * event which state its triggers set: a CPU's, a thread's, or where the event is of both and
 * inherited, that of the sample's thread on the CPU.
 */

struct ana_tracing {
	struct ana_intervals intervals;
	struct map_u64 owners; /* perf_id_owners */
	struct {
		VEC(uint32_t);
	} before;          /* of each event that was looked at: the nearest one of a PMU before it;
			      ANA_TRACED_NONE */
	bool has_triggers; /* some of them pause or resume */
	bool is_failed;    /* no memory for before */
	uint64_t nr_throttled; /* THROTTLE of a trigger, or of what it switches */
	struct clew_perf_ns throttled_from, throttled_to; /* the first and last; none */
};

/** Where some event of @p l may switch tracing. */
enum clew_err ana_tracing_take_switched(struct ana_tracing *x, const struct perf_evlist *l,
					const struct perf_record *r, struct clew_perf_ns time);

/** Any record, at @p time; what does not matter is ignored. @return CLEW_OK; CLEW_NO_MEMORY. */
static inline enum clew_err ana_tracing_take(struct ana_tracing *x, const struct perf_evlist *l,
					     const struct perf_record *r, struct clew_perf_ns time)
{
	bool is_plain = x->before.nr == l->evsels.nr && !x->has_triggers;

	return is_plain ? CLEW_OK : ana_tracing_take_switched(x, l, r, time);
}
/** Does any event of @p l switch tracing? */
bool ana_tracing_is_switched(struct ana_tracing *x, const struct perf_evlist *l);
static inline void ana_tracing_close(struct ana_tracing *x)
{
	ana_intervals_close(&x->intervals);
}
void ana_tracing_done(struct ana_tracing *x);

#endif
