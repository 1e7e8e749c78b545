/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_RING_H
#define FLOW_ETM_ETM_RING_H

#include "flow/etm/etm_part.h"

enum { ETM_MIN_PART_BYTES = 4 << 10 }; /* less is not worth a thread */

/**
 * The input is cut into parts, a ring of them. The threads decode what is ready, each in its lane,
 * the caller's in lane 0, when the ring is full; the caller's joins part to part in order.
 */
struct etm_parallel {
	struct etm_flow_opts opts;
	struct etm_lane *lanes;
	uint32_t nr_lanes, nr_to_total; /* lanes that have not counted their totals yet */
	struct etm_buffers buffers;

	/* Shared, under the lock: stages of parts and what is known where they begin, lanes'
	 * is_full. A part that runs is its lane's, else the caller's, who alone moves the ring. */
	struct os_lock *lock;
	struct etm_part *parts;
	size_t nr_parts, first, nr; /* of the ring; that are ready, running or done */
	size_t nr_running;          /* but in the caller's lane */
	unsigned int nr_holds;
	bool is_over;

	bool has_threads;
	struct etm_part *open; /* takes the input */
	bool is_next_cut;
	uint64_t offset; /* of the input's next byte */
	size_t part_bytes;

	struct etm_end end; /* of the last part that was joined */
	enum clew_err err;
	struct flow_totals totals;
	struct flow_kept joins; /* edges from part to part */
};

static inline struct etm_part *etm_ring_part(const struct etm_parallel *p, size_t i)
{
	return &p->parts[(p->first + i) % p->nr_parts];
}

/** flow_opts.batch of a lane, with the lane: what is known to come next needs not wait. */
enum clew_err etm_ring_batch(void *ctx, const struct flow_batch *b);

/** Where no thread can be had, the caller's does its part. More than once is fine. */
void etm_ring_start(struct etm_parallel *p);
void etm_ring_stop(struct etm_parallel *p);

/** Until etm_ring_release(), nothing is decoded but by the caller. May be nested. */
void etm_ring_hold(struct etm_parallel *p);
void etm_ring_release(struct etm_parallel *p);

/** To decode in the lane of p->end, until etm_ring_suspend(). NULL: p->err. */
struct etm_flow *etm_ring_resume(struct etm_parallel *p);
void etm_ring_suspend(struct etm_parallel *p);

/** Join, and help to decode, until no more than @p nr parts are left. */
void etm_ring_join_until(struct etm_parallel *p, size_t nr);

/** What counting leaves for the end, each lane in its thread. No part is left. */
void etm_ring_count_totals(struct etm_parallel *p);

#endif
