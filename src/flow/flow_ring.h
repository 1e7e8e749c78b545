/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_RING_H
#define FLOW_FLOW_RING_H

#include "flow/flow_part.h"

enum { FLOW_MIN_PART_BYTES = 4 << 10 }; /* less is not worth a thread */

/**
 * The input is cut into parts, a ring of them. The threads decode what is ready, each as one
 * worker, the caller's as worker 0, when the ring is full; the caller's joins part to part in
 * order. A part that began in another state than was assumed is decoded again from the state before
 * it (flow_state.h). Counts of all threads are added up (flow_counts_merge.h).
 */
struct flow_parallel {
	const struct flow_front *front;
	struct flow_opts opts;
	struct flow_worker *workers;
	uint32_t nr_workers, nr_to_total; /* workers that have not counted their totals yet */
	struct flow_buffers buffers;

	/* Shared, under the lock: stages of parts and what is known where they begin, workers'
	 * is_full. A part that runs is its worker's, else the caller's, who alone moves the ring.
	 */
	struct os_lock *lock;
	struct flow_part *parts;
	size_t nr_parts, first, nr; /* of the ring; that are ready, running or done */
	size_t nr_running;          /* but in the caller's worker */
	unsigned int nr_holds;
	bool is_over;

	bool has_threads;
	struct flow_part *open; /* takes the input */
	bool is_next_cut;
	uint64_t next_place; /* if is_next_cut: flow_part.place */
	uint64_t offset;     /* of the input's next byte */
	size_t part_bytes;

	struct flow_end end; /* of the last part that was joined */
	enum clew_err err;
	struct flow_totals totals;
	struct flow_count_store joins; /* edges from part to part */
};

static inline struct flow_part *flow_ring_part(const struct flow_parallel *p, size_t i)
{
	return &p->parts[(p->first + i) % p->nr_parts];
}

/** flow_opts.batch of a worker, with the worker: what is known to come next needs not wait. */
enum clew_err flow_ring_batch(void *ctx, const struct flow_batch *b);

/** Where no thread can be had, the caller's does its part. More than once is fine. */
void flow_ring_start(struct flow_parallel *p);
void flow_ring_stop(struct flow_parallel *p);

/** Until flow_ring_release(), nothing is decoded but by the caller. May be nested. */
void flow_ring_hold(struct flow_parallel *p);
void flow_ring_release(struct flow_parallel *p);

/** To decode in the worker of p->end, until flow_ring_suspend(). NULL: p->err. */
struct flow *flow_ring_resume(struct flow_parallel *p);
void flow_ring_suspend(struct flow_parallel *p);

/** Join, and help to decode, until no more than @p nr parts are left. */
void flow_ring_join_until(struct flow_parallel *p, size_t nr);

/** What counting leaves for the end, each worker in its thread. No part is left. */
void flow_ring_count_totals(struct flow_parallel *p);

#endif
