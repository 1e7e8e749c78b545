/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_part.h"

enum { MAX_AHEAD = 256 }; /* elements; where more wait, something is wrong */

/* --- batches --- */

uint32_t *etm_buffer_take(struct etm_buffers *b)
{
	uint32_t *ret = NULL;

	os_lock(b->lock);
	if (b->spare.nr)
		ret = b->spare.data[--b->spare.nr];
	os_unlock(b->lock);
	if (ret)
		return ret;
	return mem_alloc((FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH) * sizeof(*ret));
}

void etm_outs_forget(struct etm_buffers *b, struct etm_outs *o)
{
	os_lock(b->lock);
	vec_for_each (o, out) {
		if (!vec_push(&b->spare, out->items))
			mem_free(out->items);
		mem_free(out->events);
	}
	os_unlock(b->lock);
	o->nr = o->bytes = 0;
}

void etm_buffers_done(struct etm_buffers *b)
{
	vec_for_each (&b->spare, items)
		mem_free(*items);
	vec_done(&b->spare);
	os_lock_free(b->lock);
}

static bool copy_events(struct etm_out *out, const struct flow_event *events, size_t nr)
{
	if (!nr)
		return true;
	out->events = mem_calloc(nr, sizeof(*events));
	if (!out->events)
		return false;
	memcpy(out->events, events, nr * sizeof(*events));
	out->nr_events = nr;
	return true;
}

/** The flow goes on with another buffer. */
enum clew_err etm_lane_batch(void *ctx, const struct flow_batch *b)
{
	struct etm_lane *l = ctx;
	struct etm_flow *f = l->flow;
	struct etm_out out = {.nr_items = b->nr};
	uint32_t *fresh;

	l->is_too_much = l->outs->bytes > l->most_bytes;
	fresh = l->is_too_much ? NULL : etm_buffer_take(l->buffers);
	if (!fresh || !copy_events(&out, b->events, f->flow.events.nr)) {
		mem_free(fresh);
		return CLEW_NO_MEMORY;
	}
	out.items = f->flow.items;
	if (!vec_push(l->outs, out)) {
		mem_free(fresh);
		mem_free(out.events);
		return CLEW_NO_MEMORY;
	}
	l->outs->bytes += sizeof(*f->flow.items) * (FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH) +
			  out.nr_events * sizeof(*out.events);
	f->flow.items = fresh;
	return CLEW_OK;
}

/* --- totals --- */

static struct flow_totals since(const struct etm_flow *f, const struct flow_totals *before)
{
	struct flow_totals ret = f->flow.totals;

	flow_totals_subtract(&ret, before);
	return ret;
}

/* --- where a part ends --- */

void etm_end_set(struct etm_end *e, struct etm_lane *l)
{
	struct etm_flow *f = l->flow;
	const struct etm_packets *k = &f->packets;
	const struct flow_totals before = f->flow.totals;

	e->lane = l;
	flow_deliver(&f->flow);
	if (!etm_state_save(&e->state, f))
		flow_fail(&f->flow, CLEW_NO_MEMORY);
	e->is_ahead = f->queue.nr - f->head <= MAX_AHEAD;
	l->outs = &e->rest;
	l->is_direct = false;
	if (e->is_ahead)
		etm_queue_perform_rest(f);
	flow_put_dropped(&f->flow);
	flow_deliver(&f->flow);
	l->outs = NULL;
	e->rest_totals = since(f, &before);
	e->is_running = e->is_ahead && f->sync == ETM_RUNNING && !f->has_pending && !f->depth &&
			!f->was_overflow && k->is_synced && !k->nr_held && !k->nr_skipped;
	e->has_own_ticks = f->flow.has_own_ticks;
	e->ticks = f->flow.ticks;
	e->upper_el = f->flow.context.upper_el;
	e->needs_context = f->flow.needs_context;
	e->has_from = f->flow.from != FLOW_NO_BLOCK;
	if (e->has_from)
		e->from = f->flow.blocks.all.data[f->flow.from];
}

bool etm_end_resume(struct etm_end *e)
{
	struct etm_flow *f = e->lane->flow;
	const struct flow_totals totals = f->flow.totals;

	if (!f->flow.items && e->is_ahead && e->state.queue.nr) {
		if (!etm_state_restore(&e->state, f))
			return false;
		f->flow.step = UINT32_MAX;
		etm_queue_perform_rest(f);
		f->flow.step = 1;
		f->flow.totals = totals;
	}
	flow_totals_subtract(&f->flow.totals, &e->rest_totals);
	etm_outs_forget(e->lane->buffers, &e->rest);
	f->flow.nr_items = f->flow.events.nr = 0;
	f->flow.is_speculative = true; /* its cache stays as it is */
	return etm_state_restore(&e->state, f);
}

void etm_end_done(struct etm_buffers *b, struct etm_end *e)
{
	etm_state_done(&e->state);
	etm_outs_forget(b, &e->rest);
	vec_done(&e->rest);
}

/* --- parts --- */

/** As if a stretch without loss went on with the async it begins with. */
static void begin(struct etm_lane *l, const struct etm_part *k)
{
	struct etm_flow *f = l->flow;

	f->flow.err = CLEW_OK;
	f->sync = ETM_RUNNING;
	f->is_begun = true;
	f->was_overflow = false;
	f->head = f->queue.nr = 0;
	f->depth = f->nr_placeholders = 0;
	f->has_pending = false;
	etm_walk_forget(f);
	etm_packets_reset(&f->packets, k->offset);
	f->packets.is_synced = true;
	f->flow.context = k->context;
	f->flow.ticks = k->ticks;
	f->flow.bound = k->bound;
	f->flow.nr_items = f->flow.events.nr = 0;
	f->flow.nr_dropped = 0;
	f->flow.last_edge.kind = FLOW_EDGE_NONE;
	memcpy(f->flow.reported, k->reported, sizeof(f->flow.reported));
	f->flow.first = FLOW_FIRST_NONE;
	f->flow.has_first_to = FLOW_TO_OPEN;
	f->flow.has_own_ticks = f->has_own_context = f->has_own_upper_el = false;
	f->flow.nr_asked = 0;
	f->flow.is_speculative = true;
}

/** What there is to know of it, apart from what came of it. */
static void tell(struct etm_part *k, const struct etm_flow *f)
{
	k->err = f->flow.err;
	k->first = (enum flow_first)f->flow.first;
	k->has_first_to = (enum flow_first_to)f->flow.has_first_to;
	k->first_to = f->flow.first_to;
	k->has_own_upper_el = f->has_own_upper_el;
	k->nr_asked = f->flow.nr_asked;
	memcpy(k->asked, f->flow.asked, sizeof(k->asked));
}

bool etm_lane_tell_fresh(struct etm_lane *l)
{
	const struct etm_flow *f = l->flow;
	size_t nr = f->flow.blocks.all.nr - l->nr_told;

	if (!f->flow.items || !nr)
		return true;
	if (!vec_reserve(&l->fresh, l->fresh.nr + nr))
		return false;
	memcpy(l->fresh.data + l->fresh.nr, f->flow.blocks.all.data + l->nr_told,
	       nr * sizeof(*l->fresh.data));
	l->fresh.nr += nr;
	l->nr_told += nr;
	return true;
}

void etm_part_decode(struct etm_lane *l, struct etm_part *k)
{
	struct etm_flow *f = l->flow;
	const struct flow_totals before = f->flow.totals;

	begin(l, k);
	l->is_too_much = false;
	l->outs = &k->outs;
	flow_feed(&f->flow, k->in);
	etm_end_set(&k->end, l);
	tell(k, f);
	k->is_too_much = l->is_too_much;
	k->totals = since(f, &before);
}

/** By counting it all again, downwards. That may go other ways: what was a packet may be part of a
 * path by now. */
void etm_part_uncount(struct etm_lane *l, struct etm_part *k)
{
	struct etm_flow *f = l->flow;
	struct flow_totals before = f->flow.totals, after;

	if (!f->flow.items) {
		begin(l, k);
		f->flow.step = UINT32_MAX;
		flow_feed(&f->flow, k->in);
		if (k->end.is_ahead)
			etm_queue_perform_rest(f);
		f->flow.step = 1;
		after = f->flow.totals;
		f->flow.totals = before;
		flow_totals_subtract(&f->flow.totals, &k->totals);
		f->flow.totals.nr_insns = after.nr_insns;
		f->flow.totals.nr_ranges = after.nr_ranges;
		return;
	}
	flow_totals_subtract(&f->flow.totals, &k->totals);
}

void etm_part_forget(struct etm_buffers *b, struct etm_part *k)
{
	etm_outs_forget(b, &k->outs);
	etm_outs_forget(b, &k->end.rest);
	if (k->end.state.queue.cap > MAX_AHEAD)
		etm_state_done(&k->end.state);
}

void etm_part_done(struct etm_buffers *b, struct etm_part *k)
{
	etm_part_forget(b, k);
	etm_end_done(b, &k->end);
	vec_done(&k->outs);
	mem_free(k->bytes);
}
