/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_TRACE_HELD_H
#define TRACE_EVENTS_TRACE_HELD_H

#include "flow/flow.h"
#include "trace/trace_ops.h"

/* Batches of one unit that wait: copies of what its decoder delivered, which lives for the call. */

/** Blocks of one unit in one epoch, shared by its batches. */
struct trace_held_blocks;

struct trace_held {
	struct trace_held *next;
	struct trace_held_blocks *blocks;
	struct flow_event *events;
	struct trace_op *ops;      /* NULL: items of a flow; else these, */
	struct clew_perf_ns bound; /* and their bound */
	size_t nr, at;             /* items or ops: all, and how many are done */
	size_t bytes;              /* of them and their events */
	uint32_t items[];
};

/** @p blocks: of the unit's last batch; NULL at first. @return NULL: no memory. */
struct trace_held *trace_held_flow(struct trace_held_blocks **blocks, const struct flow_batch *b);
struct trace_held *trace_held_ops(const struct trace_ops_batch *b);
void trace_held_free(struct trace_held *h);
void trace_held_blocks_put(struct trace_held_blocks *b);
/** Items [at, end) of a flow, as a batch. */
struct flow_batch trace_held_batch(const struct trace_held *h, size_t end);

static inline const struct flow_event *trace_held_event(const struct trace_held *h, size_t i)
{
	return h->items[i] & FLOW_ITEM_EVENT ? &h->events[h->items[i] & ~FLOW_ITEM_EVENT] : NULL;
}

/** Ticks of item @p i. 0: it has none. */
static inline struct clew_ticks trace_held_ticks(const struct trace_held *h, size_t i)
{
	const struct flow_event *e = h->ops ? NULL : trace_held_event(h, i);

	if (h->ops && h->ops[i].op.has & ANA_OP_HAS_TIME)
		return (struct clew_ticks){h->ops[i].op.ticks};
	return e && e->kind == FLOW_EV_TIMESTAMP ? e->ticks : (struct clew_ticks){0};
}

/** Of a flow: does execution continue at item @p i, so that a branch before it is complete? */
static inline bool trace_held_is_run(const struct trace_held *h, size_t i)
{
	const struct flow_event *e = trace_held_event(h, i);

	return !e || (e->kind == FLOW_EV_RANGE && e->count);
}

/** Does event @p i only describe what follows it? */
static inline bool trace_held_is_passive(const struct trace_held *h, size_t i)
{
	const uint32_t passive = 1u << FLOW_EV_CONTEXT | 1u << FLOW_EV_TIMESTAMP |
				 1u << FLOW_EV_CYCLES | 1u << FLOW_EV_BOUND | 1u << FLOW_EV_EVENT |
				 1u << FLOW_EV_TS_MARKER | 1u << FLOW_EV_SWITCH;

	return passive >> trace_held_event(h, i)->kind & 1;
}

#endif
