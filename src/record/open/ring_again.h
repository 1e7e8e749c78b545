/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_RING_AGAIN_H
#define RECORD_OPEN_RING_AGAIN_H

#include "base/vec.h"
#include "perfdata/perf_sample.h"

struct ring_id {
	uint64_t now, file; /* the kernel's of the new event; that of the event before it */
};

/**
 * A ring that took the place of another: its CPU was offline, and the events there died. The attrs
 * of a file that has begun list the ids of the old events, and readers know the trace of a CPU by
 * its number and by offsets that only grow (perf's cs_etm, and clew). So records of the new events
 * get the ids of the old ones, and offsets in the AUX area continue where the old one ended.
 */
struct ring_again {
	struct {
		VEC(struct ring_id); /* none: it is the first of its place */
	} ids;
	uint64_t aux_bytes; /* of the AUX areas before */
	bool has_gap;       /* the next AUX record follows the time without trace */
	bool has_unknown;   /* what its records would have said before the first one is unknown */
	bool is_unwatched;  /* its descriptor is new, and not polled yet */
};

static inline bool ring_again_is(const struct ring_again *a)
{
	return a->ids.nr != 0;
}

/** A whole record of the ring, to be as the file wants it; @p pos: of ids, the same in all
 * events. */
void ring_again_mend(struct ring_again *a, struct perf_field_pos pos, uint8_t *record);

#endif
