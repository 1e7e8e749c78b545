/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_SAMPLES_H
#define RECORD_SOFT_SOFT_SAMPLES_H

#include "record/open/counters.h"
#include "record/soft/soft_plan.h"

/*
 * When events that resume the trace at a system call had their sample: read from the rings, beside
 * the process that records them.
 */
struct soft_samples {
	const struct rec_counters *counters;
	const struct soft_plan *plan;
	struct {
		VEC(struct os_ring);
	} rings;
};

/** In the process that traces. Rings that cannot be mapped are omitted. */
void soft_samples_open(struct soft_samples *s, const struct rec_counters *c,
		       const struct soft_plan *plan);

/** The time of the newest sample since the last call, of those of thread @p tid. 0: none. */
uint64_t soft_samples_last(struct soft_samples *s, int tid);

#endif
