/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_AUX_SEEN_H
#define RECORD_PLAN_AUX_SEEN_H

#include <stdint.h>

enum { REC_AUX_SEEN_KEPT = 64 };

/** An AUX record, with the time at which its bytes end. */
struct rec_aux_mark {
	uint64_t offset, size, time;
};

/**
 * What was read of a ring's AUX records. They describe the bytes of its AUX area, and are lost when
 * the ring is full while the bytes are not: the area itself is read by its head alone.
 */
struct rec_aux_seen {
	uint64_t nr, bytes; /* records; the sum of their sizes */
	/* of these; a driver may set several */
	uint64_t nr_truncated, nr_partial, nr_collision, nr_overwrite, nr_unknown;
	uint64_t nr_lost;      /* LOST records of the ring */
	uint64_t truncated_ns; /* time of the last truncated one that nothing followed; 0: none */
	uint64_t first_gap_ns; /* of the first truncated one */
	uint64_t gap_ns;       /* from each truncated one to the end of the next: at least what the
				  trace stood still for */
	struct rec_aux_mark last[REC_AUX_SEEN_KEPT]; /* the newest; number i is at i modulo that */
};

#endif
