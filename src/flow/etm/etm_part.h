/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_PART_H
#define FLOW_ETM_ETM_PART_H

#include "flow/etm/etm_state.h"
#include "os/thread.h"

/*
 * A part of the input, decoded as if what came before had been decoded, but without knowing it; and
 * a lane, which decodes one part after the other with a cache of its own. Lanes run side by side:
 * nothing here is shared but the buffers.
 */

/** A batch that waits for its turn. */
struct etm_out {
	uint32_t *items; /* of etm_buffers */
	size_t nr_items;
	struct flow_event *events;
	size_t nr_events;
};

struct etm_outs {
	VEC(struct etm_out);
	size_t bytes;
};

/** Buffers of FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH items that nobody uses. */
struct etm_buffers {
	struct os_lock *lock;
	struct {
		VEC(uint32_t *);
	} spare;
};

/** Where a part ends. */
struct etm_end {
	struct etm_lane *lane; /* whose numbers these are */
	struct etm_state state;
	/* What waits in the state's queue was performed ahead, as it is when nothing is lost in
	 * front of the next P0 element. This came of it: */
	bool is_ahead; /* it was not too much */
	struct etm_outs rest;
	struct flow_totals rest_totals;
	bool is_running; /* in the midst of nothing */
	bool has_own_ticks, needs_context;
	uint64_t ticks;
	uint8_t upper_el;
	bool has_from; /* an indirect branch came last */
	struct flow_block from;
};

enum etm_part_stage { ETM_PART_OPEN, ETM_PART_READY, ETM_PART_RUNNING, ETM_PART_DONE };

struct etm_part {
	enum etm_part_stage stage;
	struct bytes in;
	uint64_t offset;
	bool is_cut; /* begins with a synchronisation that tells all: can be decoded ahead */
	/* What it assumes of what came before. */
	struct flow_context context;
	uint64_t ticks, bound;
	uint8_t reported[sizeof(((struct flow *)NULL)->reported)];

	/* Decoded: */
	enum clew_err err;
	bool is_too_much; /* err: more came of it than may wait */
	enum flow_first first;
	enum flow_first_to has_first_to;
	uint64_t first_to;
	bool has_own_upper_el;
	unsigned int nr_asked;
	__typeof__(((struct flow *)NULL)->asked) asked;
	struct flow_totals totals;
	struct etm_outs outs;
	struct etm_end end;

	/* The input, until it is cut. */
	uint8_t *bytes;
	size_t nr, room, nr_searched;
};

struct etm_lane {
	struct etm_parallel *p;
	struct etm_buffers *buffers;
	struct etm_flow *flow;
	uint32_t nr;
	struct etm_outs *outs; /* where batches go; NULL: to the consumer */
	size_t most_bytes;     /* of one part's batches */
	bool is_full, is_too_much, is_direct, wants_totals;
	struct os_thread *thread;
	/* The consumer's thread has blocks of its own, while the lane finds more: from behind each
	 * part they go to fresh, and from there to shown. */
	struct etm_block_list {
		VEC(struct flow_block);
	} fresh, shown;
	size_t nr_told;
};

/** flow_opts.batch of a lane, with the lane. */
enum clew_err etm_lane_batch(void *ctx, const struct flow_batch *b);

/** Decode @p k ahead; what it assumes is set. */
void etm_part_decode(struct etm_lane *l, struct etm_part *k);
/** Blocks that were found since the last call go to fresh. @return false: out of memory. */
bool etm_lane_tell_fresh(struct etm_lane *l);
/** Take back what was counted of it. */
void etm_part_uncount(struct etm_lane *l, struct etm_part *k);
/** Free what came of it, keep its memory. */
void etm_part_forget(struct etm_buffers *b, struct etm_part *k);
void etm_part_done(struct etm_buffers *b, struct etm_part *k);

/** The lane's decoder stops here. */
void etm_end_set(struct etm_end *e, struct etm_lane *l);
/** And goes on. What was performed ahead is undone. @return false: out of memory. */
bool etm_end_resume(struct etm_end *e);
void etm_end_done(struct etm_buffers *b, struct etm_end *e);

uint32_t *etm_buffer_take(struct etm_buffers *b);
void etm_outs_forget(struct etm_buffers *b, struct etm_outs *o);
void etm_buffers_done(struct etm_buffers *b);

#endif
