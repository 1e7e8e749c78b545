/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_TIMELINE_H
#define WHO_WHO_TIMELINE_H

#include <stdint.h>

#include <clew/time.h>

#include "base/vec.h"

/* A value over time. Zeroed struct = nothing known at any time; vec_done() ends it. */

struct who_change {
	struct clew_perf_ns time; /* from then on */
	uint32_t value;
	/* How much older the value is than that, where it was taken over from elsewhere: in units
	 * of WHO_AGE_NS, rounded up. */
	uint32_t age;
};

enum { WHO_AGE_NS = 1 << 20 };

struct who_timeline {
	VEC(struct who_change); /* by time */
};

/** The last change no later than @p time; NULL: none. */
const struct who_change *who_timeline_at(const struct who_timeline *l, struct clew_perf_ns time);

/** A time before the last change's counts as that one's. @return false: out of memory. */
bool who_timeline_add(struct who_timeline *l, struct clew_perf_ns time, uint32_t value);
/** As who_timeline_add(), of a value that was set at @p since. */
bool who_timeline_inherit(struct who_timeline *l, struct clew_perf_ns time, uint32_t value,
			  struct clew_perf_ns since);
/** When the value was set, or earlier by less than WHO_AGE_NS. 0: before all records. */
static inline struct clew_perf_ns who_change_since(const struct who_change *c)
{
	uint64_t age = (uint64_t)c->age * WHO_AGE_NS;

	bool is_known = c->age != UINT32_MAX && age < c->time.ns;

	return (struct clew_perf_ns){is_known ? c->time.ns - age : 0};
}

#endif
