/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_TRACE_TIMES_H
#define RECORD_OPEN_TRACE_TIMES_H

#include "record/open/counters.h"

/** How long the traces of a ring ran, and how long they should have: as long as the event beside
 * them that tracks tasks and is never switched off. Sums over the ring's tasks, in ns. */
struct rec_trace_times {
	uint64_t ran;
	uint64_t due_before, due_after; /* read before ran, and after */
	uint64_t nr_lost;               /* records of the traces that did not fit into the ring */
	bool has_due;                   /* there is such an event */
};

/** Some system calls for each task. @return false: the ring has no trace that is on, or its times
 * cannot be read. */
bool rec_trace_times_read(const struct rec_counters *c, const struct rec_ring *r,
			  struct rec_trace_times *ret);

/** How long that event ran on the ring's CPU. It stands only where the CPU was offline. @return
 * false: unknown. */
bool rec_tracker_ran(const struct rec_counters *c, const struct rec_ring *r, uint64_t *ret);

#endif
