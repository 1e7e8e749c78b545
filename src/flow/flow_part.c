/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_part.h"

#include "flow/flow_one.h"

enum { MAX_AHEAD = 256 }; /* elements; where more wait, something is wrong */

/* --- batches --- */

static void free_batch(struct flow_held_batch *h)
{
	mem_free(h->items);
	vec_done(&h->events);
}

/** @return false: out of memory. */
static bool take_buffer(struct flow_buffers *b, struct flow_held_batch *ret)
{
	*ret = (struct flow_held_batch){0};
	os_lock(b->lock);
	if (b->spare.nr)
		*ret = b->spare.data[--b->spare.nr];
	os_unlock(b->lock);
	if (!ret->items)
		ret->items =
			mem_alloc((FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH) * sizeof(*ret->items));
	return ret->items;
}

/** Its room for events stays if it is needed again and again. */
static void put_buffer(struct flow_buffers *b, struct flow_held_batch *h)
{
	if (h->events.cap / 4 > h->events.nr)
		vec_done(&h->events);
	h->nr_items = h->events.nr = 0;
	if (!vec_push(&b->spare, *h))
		free_batch(h);
}

void flow_held_forget(struct flow_buffers *b, struct flow_held_batches *h)
{
	os_lock(b->lock);
	vec_for_each (h, held)
		put_buffer(b, held);
	os_unlock(b->lock);
	h->nr = h->bytes = 0;
}

void flow_buffers_done(struct flow_buffers *b)
{
	vec_for_each (&b->spare, h)
		free_batch(h);
	vec_done(&b->spare);
	os_lock_free(b->lock);
}

/** Keep the batch where it is, and give the flow another buffer. */
enum clew_err flow_worker_batch(void *ctx, const struct flow_batch *b)
{
	struct flow_worker *w = ctx;
	struct flow *f = w->flow;
	const struct flow_held_batch held = {f->items, b->nr, f->events};
	struct flow_held_batch fresh;

	w->is_too_much = w->held->bytes > w->most_bytes;
	if (w->is_too_much || !vec_reserve(w->held, w->held->nr + 1) ||
	    !take_buffer(w->buffers, &fresh))
		return CLEW_NO_MEMORY;
	vec_push(w->held, held);
	w->held->bytes += sizeof(*f->items) * (FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH) +
			  held.events.cap * sizeof(*held.events.data);
	f->items = fresh.items;
	f->events = fresh.events;
	return CLEW_OK;
}

/* --- totals --- */

static struct flow_totals since(const struct flow *f, const struct flow_totals *before)
{
	struct flow_totals ret = f->totals;

	flow_totals_subtract(&ret, before);
	return ret;
}

/* --- where a part ends --- */

static uint64_t place_of(const struct flow *f)
{
	if (flow_may_pop(f))
		return f->stack[f->stack_top].address;
	return f->needs_address ? FLOW_NO_ADDRESS : f->pc;
}

void flow_end_set(struct flow_end *e, struct flow_worker *w)
{
	struct flow *f = w->flow;
	const struct flow_totals before = f->totals;
	bool is_between;

	e->worker = w;
	flow_deliver(f);
	if (!flow_state_save(&e->state, f))
		flow_fail(f, CLEW_NO_MEMORY);
	e->nr_waiting = f->front->nr_waiting(f);
	e->is_ahead = e->nr_waiting <= MAX_AHEAD;
	w->held = &e->rest;
	w->is_direct = false;
	if (e->is_ahead)
		f->front->perform_rest(f);
	flow_put_dropped(f);
	flow_deliver(f);
	w->held = NULL;
	e->rest_totals = since(f, &before);
	is_between = f->front->is_between(f, &e->offset);
	e->is_running = e->is_ahead && is_between;
	e->has_own_ticks = f->has_own_ticks;
	e->ticks = f->ticks;
	e->context = f->context;
	e->needs_context = f->needs_context;
	e->has_from = f->from != FLOW_NO_BLOCK;
	e->pc = place_of(f);
	if (e->has_from)
		e->from = f->blocks.all.data[f->from];
}

bool flow_end_resume(struct flow_end *e)
{
	struct flow *f = e->worker->flow;
	const struct flow_totals totals = f->totals;

	if (!f->items && e->is_ahead && e->nr_waiting) {
		if (!flow_state_restore(&e->state, f))
			return false;
		f->step = FLOW_COUNT_DOWN;
		f->front->perform_rest(f);
		f->step = FLOW_COUNT_UP;
		f->totals = totals;
	}
	flow_totals_subtract(&f->totals, &e->rest_totals);
	flow_held_forget(e->worker->buffers, &e->rest);
	f->nr_items = f->events.nr = 0;
	f->is_speculative = true; /* its cache stays as it is */
	return flow_state_restore(&e->state, f);
}

void flow_end_done(struct flow_buffers *b, struct flow_end *e)
{
	flow_state_done(&e->state);
	flow_held_forget(b, &e->rest);
	vec_done(&e->rest);
}

/* --- parts --- */

/** As if trace without loss came before the part, up to the synchronisation it begins with. */
static void begin(struct flow_worker *w, const struct flow_part *k)
{
	struct flow *f = w->flow;

	f->front->begin_part(f, k->offset, k->place);
	f->err = CLEW_OK;
	f->is_begun = true;
	f->context = k->context;
	f->ticks = k->ticks;
	f->shown = (struct clew_ticks){0};
	f->bound = k->bound;
	f->nr_items = f->events.nr = 0;
	f->nr_dropped = 0;
	f->last_edge.kind = FLOW_EDGE_NONE;
	memcpy(f->reported, k->reported, sizeof(f->reported));
	f->first = FLOW_FIRST_NONE;
	f->has_first_to = FLOW_TO_OPEN;
	f->has_own_ticks = f->has_own_context = false;
	f->nr_asked = 0;
	f->is_speculative = true;
	if (k->place == FLOW_NO_ADDRESS) /* else it is asked for there */
		flow_look_up_space(f);
}

/** What joining has to know of it, apart from what it put out. */
static void keep_outcome(struct flow_part *k, const struct flow *f)
{
	k->err = f->err;
	k->first = (enum flow_first)f->first;
	k->has_first_to = (enum flow_first_to)f->has_first_to;
	k->first_to = f->first_to;
	k->has_own_context = f->has_own_context;
	k->nr_asked = f->nr_asked;
	memcpy(k->asked, f->asked, sizeof(k->asked));
}

bool flow_worker_put_fresh(struct flow_worker *w)
{
	const struct flow *f = w->flow;
	size_t nr = f->blocks.all.nr - w->nr_known;

	if (!f->items || !nr)
		return true;
	if (!vec_reserve(&w->fresh, w->fresh.nr + nr))
		return false;
	memcpy(w->fresh.data + w->fresh.nr, f->blocks.all.data + w->nr_known,
	       nr * sizeof(*w->fresh.data));
	w->fresh.nr += nr;
	w->nr_known += nr;
	return true;
}

void flow_part_reach(struct flow *f, const struct flow_part *k)
{
	uint64_t ignored;

	if (!k->reaches || f->err || !f->front->is_between(f, &ignored))
		return;
	f->offset = k->reach_offset;
	f->front->reach(f, k->reach_to);
}

void flow_part_decode(struct flow_worker *w, struct flow_part *k)
{
	struct flow *f = w->flow;
	const struct flow_totals before = f->totals;

	begin(w, k);
	w->is_too_much = false;
	w->held = &k->held;
	flow_one_feed(f, k->in);
	flow_part_reach(f, k);
	flow_end_set(&k->end, w);
	keep_outcome(k, f);
	k->is_too_much = w->is_too_much;
	k->totals = since(f, &before);
}

/** By counting it all again, downwards. That may go other ways: what was a packet may be part of a
 * path by now. */
void flow_part_uncount(struct flow_worker *w, struct flow_part *k)
{
	struct flow *f = w->flow;
	struct flow_totals before = f->totals, after;

	if (!f->items) {
		begin(w, k);
		f->step = FLOW_COUNT_DOWN;
		flow_one_feed(f, k->in);
		flow_part_reach(f, k);
		if (k->end.is_ahead)
			f->front->perform_rest(f);
		f->step = FLOW_COUNT_UP;
		after = f->totals;
		f->totals = before;
		flow_totals_subtract(&f->totals, &k->totals);
		f->totals.nr_insns = after.nr_insns;
		f->totals.nr_ranges = after.nr_ranges;
		return;
	}
	flow_totals_subtract(&f->totals, &k->totals);
}

void flow_part_forget(struct flow_buffers *b, struct flow_part *k)
{
	flow_held_forget(b, &k->held);
	flow_held_forget(b, &k->end.rest);
	if (!k->end.is_ahead)
		flow_state_done(&k->end.state);
}

void flow_part_done(struct flow_buffers *b, struct flow_part *k)
{
	flow_part_forget(b, k);
	flow_end_done(b, &k->end);
	vec_done(&k->held);
	mem_free(k->bytes);
}
