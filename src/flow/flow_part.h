/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_PART_H
#define FLOW_FLOW_PART_H

#include "flow/flow_state.h"
#include "os/thread.h"

/*
 * A part of the input, decoded as if what came before had been decoded, but without knowing it; and
 * a worker, which decodes one part after the other with a cache of its own. Workers run side by
 * side: nothing here is shared but the buffers.
 */

/** A batch that waits for its turn, in memory of flow_buffers. */
struct flow_held_batch {
	uint32_t *items; /* room for FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH */
	size_t nr_items;
	struct flow_event_list events;
};

struct flow_held_batches {
	VEC(struct flow_held_batch);
	size_t bytes;
};

/** Memory of batches that is not in use. */
struct flow_buffers {
	struct os_lock *lock;
	struct {
		VEC(struct flow_held_batch);
	} spare;
};

/** Where a part ends. */
struct flow_end {
	struct flow_worker *worker; /* which these numbers are of */
	struct flow_state state;
	/* What waits in the state's queue was performed ahead, as it will be if nothing is lost
	 * before the next element. Its output: */
	bool is_ahead; /* few enough elements were pending to run them speculatively */
	size_t nr_waiting;
	struct flow_held_batches rest;
	struct flow_totals rest_totals;
	bool is_running; /* in sync, nothing pending: the next part may follow directly */
	uint64_t offset; /* of the next byte */
	bool has_own_ticks, needs_context;
	struct clew_ticks ticks;
	struct code_context context;
	bool has_from; /* an indirect branch came last */
	struct flow_block from;
	uint64_t pc; /* where execution is; FLOW_NO_ADDRESS: unknown */
};

enum flow_part_stage { FLOW_PART_OPEN, FLOW_PART_READY, FLOW_PART_RUNNING, FLOW_PART_DONE };

struct flow_part {
	enum flow_part_stage stage;
	struct bytes in;
	uint64_t offset;
	bool is_cut;    /* begins with a synchronisation that says all: can be decoded ahead */
	uint64_t place; /* what that says; FLOW_NO_ADDRESS: execution is not traced there */
	/* What it assumes of what came before. */
	struct code_context context;
	struct clew_ticks ticks;
	struct clew_perf_ns bound;
	uint8_t reported[FLOW_REPORTED_BYTES];
	/* Where the part after it begins, and where in the trace that is said. */
	bool reaches;
	uint64_t reach_to, reach_offset;

	/* Decoded: */
	enum clew_err err;
	bool is_too_much; /* err: it put out more than may wait */
	enum flow_first first;
	enum flow_first_to has_first_to;
	uint64_t first_to;
	bool has_own_context;
	unsigned int nr_asked;
	struct flow_asked asked[FLOW_MAX_ASKED];
	struct flow_totals totals;
	struct flow_held_batches held;
	struct flow_end end;

	/* The input, until it is cut. */
	uint8_t *bytes;
	size_t nr, room, nr_searched;
};

struct flow_worker {
	struct flow_parallel *p;
	struct flow_buffers *buffers;
	struct flow *flow;
	uint32_t nr;
	struct flow_held_batches *held; /* where batches go; NULL: to the consumer */
	size_t most_bytes;              /* of one part's batches */
	bool is_full, is_too_much, is_direct, wants_totals;
	struct os_thread *thread;
	/* The consumer's thread has blocks of its own, while the worker finds more: after each part
	 * they go to fresh, and from there to shown. */
	struct flow_block_list {
		VEC(struct flow_block);
	} fresh, shown;
	size_t nr_known;
};

/** flow_opts.batch of a worker, with the worker. */
enum clew_err flow_worker_batch(void *ctx, const struct flow_batch *b);

/** Decode @p k ahead; what it assumes is set. */
void flow_part_decode(struct flow_worker *w, struct flow_part *k);
/** Blocks that were found since the last call go to fresh. @return false: out of memory. */
bool flow_worker_put_fresh(struct flow_worker *w);
/** After its last byte: to where the next part begins. */
void flow_part_reach(struct flow *f, const struct flow_part *k);
/** Take back what was counted of it. */
void flow_part_uncount(struct flow_worker *w, struct flow_part *k);
/** Free what it put out, keep its memory. */
void flow_part_forget(struct flow_buffers *b, struct flow_part *k);
void flow_part_done(struct flow_buffers *b, struct flow_part *k);

/** The worker's decoder stops here. */
void flow_end_set(struct flow_end *e, struct flow_worker *w);
/** And resumes. What was performed ahead is undone. @return false: out of memory. */
bool flow_end_resume(struct flow_end *e);
void flow_end_done(struct flow_buffers *b, struct flow_end *e);

void flow_held_forget(struct flow_buffers *b, struct flow_held_batches *h);
void flow_buffers_done(struct flow_buffers *b);

#endif
