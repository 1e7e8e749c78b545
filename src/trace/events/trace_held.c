/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_held.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct trace_held_blocks {
	uint32_t refs, epoch;
	struct {
		VEC(struct flow_block);
	} all;
};

void trace_held_blocks_put(struct trace_held_blocks *b)
{
	if (!b || --b->refs)
		return;
	vec_done(&b->all);
	mem_free(b);
}

/** The unit's blocks, with those that @p b has up to number @p nr. NULL: no memory. */
static struct trace_held_blocks *blocks_of(struct trace_held_blocks **blocks,
					   const struct flow_batch *b, size_t nr)
{
	struct trace_held_blocks *own = *blocks;
	size_t had;

	if (!own || own->epoch != b->epoch) {
		trace_held_blocks_put(own);
		own = *blocks = mem_zalloc(sizeof(*own));
		if (!own)
			return NULL;
		own->refs = 1;
		own->epoch = b->epoch;
	}
	had = own->all.nr;
	if (nr > had) {
		if (!vec_reserve(&own->all, nr))
			return NULL;
		memcpy(own->all.data + had, b->blocks + had, (nr - had) * sizeof(*b->blocks));
		own->all.nr = nr;
	}
	own->refs++;
	return own;
}

void trace_held_free(struct trace_held *h)
{
	trace_held_blocks_put(h->blocks);
	mem_free(h->events);
	mem_free(h->ops);
	mem_free(h);
}

struct trace_held *trace_held_flow(struct trace_held_blocks **blocks, const struct flow_batch *b)
{
	struct trace_held *h = mem_alloc(sizeof(*h) + b->nr * sizeof(h->items[0]));
	size_t nr_blocks = 0, nr_events = 0;

	if (!h)
		return NULL;
	*h = (struct trace_held){.nr = b->nr};
	memcpy(h->items, b->items, b->nr * sizeof(h->items[0]));
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i], at = item & ~FLOW_ITEM_EVENT;

		if (item & FLOW_ITEM_EVENT)
			nr_events = at >= nr_events ? at + 1 : nr_events;
		else
			nr_blocks = at >> 1 >= nr_blocks ? (at >> 1) + 1 : nr_blocks;
	}
	h->blocks = blocks_of(blocks, b, nr_blocks);
	h->events = mem_alloc((nr_events + 1) * sizeof(*h->events));
	if (!h->blocks || !h->events) {
		trace_held_free(h);
		return NULL;
	}
	h->bytes = b->nr * sizeof(h->items[0]) + nr_events * sizeof(*h->events);
	if (nr_events)
		memcpy(h->events, b->events, nr_events * sizeof(*h->events));
	return h;
}

struct trace_held *trace_held_ops(const struct trace_ops_batch *b)
{
	struct trace_held *h = mem_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->bytes = b->nr * sizeof(*h->ops);
	h->ops = mem_alloc(h->bytes);
	h->nr = b->nr;
	h->bound = b->bound;
	if (!h->ops) {
		trace_held_free(h);
		return NULL;
	}
	memcpy(h->ops, b->ops, h->bytes);
	return h;
}

struct flow_batch trace_held_batch(const struct trace_held *h, size_t end)
{
	return (struct flow_batch){.items = h->items + h->at,
				   .nr = end - h->at,
				   .blocks = h->blocks->all.data,
				   .events = h->events,
				   .epoch = h->blocks->epoch};
}
