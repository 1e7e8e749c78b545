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
};

struct who_timeline {
	VEC(struct who_change); /* by time */
};

/** The last change no later than @p time; NULL: none. */
const struct who_change *who_timeline_at(const struct who_timeline *l, struct clew_perf_ns time);

/** A time before the last change's counts as that one's. @return false: out of memory. */
bool who_timeline_add(struct who_timeline *l, struct clew_perf_ns time, uint32_t value);

#endif
