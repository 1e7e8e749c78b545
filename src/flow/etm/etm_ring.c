/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_ring.h"

/* --- batches --- */

static enum clew_err give(struct etm_parallel *p, const struct etm_lane *l, struct flow_batch b)
{
	b.epoch = b.epoch * p->nr_lanes + l->nr;
	return p->opts.flow.batch(p->opts.flow.ctx, &b);
}

static bool show_fresh(struct etm_parallel *p, struct etm_lane *l)
{
	struct etm_block_list *to = &l->shown, *from = &l->fresh;
	bool is_ok;

	os_lock(p->lock);
	is_ok = vec_reserve(to, to->nr + from->nr);
	if (is_ok && from->nr) {
		memcpy(to->data + to->nr, from->data, from->nr * sizeof(*to->data));
		to->nr += from->nr;
		from->nr = 0;
	}
	os_unlock(p->lock);
	return is_ok;
}

/** What lane @p l had to tell. */
static void give_outs(struct etm_parallel *p, struct etm_lane *l, struct etm_outs *o)
{
	if (!o->nr)
		return;
	if (!show_fresh(p, l))
		p->err = CLEW_NO_MEMORY;
	for (size_t i = 0; i < o->nr && !p->err; i++) {
		const struct etm_out *out = &o->data[i];
		struct flow_batch b = {.items = out->items,
				       .nr = out->nr_items,
				       .blocks = l->shown.data,
				       .events = out->events,
				       .epoch = l->flow->flow.epoch};

		p->err = give(p, l, b);
	}
	etm_outs_forget(&p->buffers, o);
}

enum clew_err etm_ring_batch(void *ctx, const struct flow_batch *b)
{
	struct etm_lane *l = ctx;
	struct etm_parallel *p = l->p;

	if (l->outs && l->is_direct && l->flow->flow.first == FLOW_FIRST_RAN) {
		give_outs(p, p->end.lane, &p->end.rest);
		if (!p->err)
			give_outs(p, l, l->outs);
		if (!p->err)
			p->err = give(p, l, *b);
		return p->err;
	}
	return l->outs ? etm_lane_batch(l, b) : give(p, l, *b);
}

/* --- lanes --- */

/** Under the lock. */
static void begin_part(struct etm_parallel *p, struct etm_part *k)
{
	const struct etm_end *e = &p->end;

	k->stage = ETM_PART_RUNNING;
	k->context = e->state.flow.context;
	/* A guess: most trace is of a system, not of one EL. */
	k->context.upper_el = e->needs_context ? 1 : e->upper_el;
	k->ticks = e->ticks;
	k->bound = e->state.flow.bound;
	memcpy(k->reported, e->state.flow.reported, sizeof(k->reported));
}

/** The newest part that is ready, so that the caller finds the oldest ready, too, whose batches
 * need not wait. Under the lock. */
static struct etm_part *claim(struct etm_parallel *p, const struct etm_lane *l)
{
	if (p->nr_holds || l->is_full)
		return NULL;
	for (size_t i = p->nr; i-- > 0;) {
		struct etm_part *k = etm_ring_part(p, i);

		if (k->stage != ETM_PART_READY || !k->is_cut)
			continue;
		begin_part(p, k);
		return k;
	}
	return NULL;
}

/** For the caller: the oldest that is ready. Under the lock. */
static struct etm_part *claim_oldest(struct etm_parallel *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		struct etm_part *k = etm_ring_part(p, i);

		if (k->stage != ETM_PART_READY || !k->is_cut)
			continue;
		begin_part(p, k);
		p->lanes[0].is_direct = !i && p->end.is_running && !p->end.needs_context &&
					p->end.state.packets.offset == k->offset;
		return k;
	}
	return NULL;
}

/** Under the lock. */
static void is_done(struct etm_lane *l, struct etm_part *k)
{
	if (!etm_lane_tell_fresh(l))
		k->err = CLEW_NO_MEMORY;
	k->stage = ETM_PART_DONE;
	l->is_full = flow_wants_room(&l->flow->flow);
}

/** Under the lock, but not all the time. */
static void count_totals(struct etm_lane *l)
{
	struct etm_parallel *p = l->p;

	l->wants_totals = false;
	os_unlock(p->lock);
	flow_totals(&l->flow->flow);
	os_lock(p->lock);
	p->nr_to_total--;
	os_lock_wake_all(p->lock);
}

static void run_lane(void *ctx)
{
	struct etm_lane *l = ctx;
	struct etm_parallel *p = l->p;

	os_lock(p->lock);
	while (!p->is_over) {
		struct etm_part *k;

		if (l->wants_totals) {
			count_totals(l);
			continue;
		}
		k = claim(p, l);
		if (!k) {
			os_lock_wait(p->lock);
			continue;
		}
		p->nr_running++;
		os_unlock(p->lock);
		etm_part_decode(l, k);
		os_lock(p->lock);
		is_done(l, k);
		p->nr_running--;
		os_lock_wake_all(p->lock);
	}
	os_unlock(p->lock);
}

void etm_ring_start(struct etm_parallel *p)
{
	for (uint32_t i = 1; !p->has_threads && i < p->nr_lanes; i++)
		p->lanes[i].thread = os_thread_start(run_lane, &p->lanes[i]);
	p->has_threads = true;
}

void etm_ring_stop(struct etm_parallel *p)
{
	os_lock(p->lock);
	p->is_over = true;
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
	for (uint32_t i = 1; i < p->nr_lanes; i++)
		os_thread_join(p->lanes[i].thread);
}

void etm_ring_hold(struct etm_parallel *p)
{
	os_lock(p->lock);
	p->nr_holds++;
	while (p->nr_running)
		os_lock_wait(p->lock);
	os_unlock(p->lock);
}

void etm_ring_release(struct etm_parallel *p)
{
	os_lock(p->lock);
	p->nr_holds--;
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
}

void etm_ring_count_totals(struct etm_parallel *p)
{
	os_lock(p->lock);
	for (uint32_t i = 1; i < p->nr_lanes; i++) {
		p->lanes[i].wants_totals = p->lanes[i].thread;
		p->nr_to_total += p->lanes[i].wants_totals;
	}
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
	flow_totals(&p->lanes[0].flow->flow);
	os_lock(p->lock);
	while (p->nr_to_total)
		os_lock_wait(p->lock);
	os_unlock(p->lock);
}

/* --- joins --- */

/** Did the part see the code of @p ticks, until it was told a time of its own? */
static bool saw_code_of(const struct etm_parallel *p, const struct etm_part *k, uint64_t ticks)
{
	const struct code_source *code = p->opts.flow.code;

	if (ticks == k->ticks)
		return true;
	for (unsigned int i = 0; i < k->nr_asked && k->nr_asked <= FLOW_MAX_ASKED; i++) {
		struct code_key key = k->asked[i].key;

		key.ticks = ticks;
		if (code->space(code->ctx, &key) != k->asked[i].space)
			return false;
	}
	return k->nr_asked <= FLOW_MAX_ASKED;
}

/** Does what was decoded before part @p k end as the part assumes? */
static bool fits(const struct etm_parallel *p, const struct etm_part *k)
{
	const struct etm_end *e = &p->end;

	return !k->err && k->first == FLOW_FIRST_RAN &&
	       !memcmp(k->reported, e->state.flow.reported, sizeof(k->reported)) && e->is_running &&
	       e->state.packets.offset == k->offset && saw_code_of(p, k, e->ticks) &&
	       (k->has_own_upper_el || e->upper_el == k->context.upper_el);
}

/** The branch that came last went to where the part begins. */
static void join_edge(struct etm_parallel *p, const struct etm_part *k)
{
	const uint64_t once[2] = {0, 1};
	uint32_t at;

	if (p->opts.flow.batch || !p->end.has_from || k->has_first_to != FLOW_TO_KNOWN)
		return;
	at = flow_kept_add_block(&p->joins, &p->end.from, once);
	if (at == UINT32_MAX || !flow_kept_add_edge(&p->joins, at, k->first_to, 1))
		p->err = CLEW_NO_MEMORY;
}

/** The end of part @p k is where decoding stands. */
static void set_end(struct etm_parallel *p, struct etm_part *k)
{
	struct etm_end old;

	if (!k->end.has_own_ticks)
		k->end.ticks = p->end.ticks;
	if (!k->end.state.flow.has_own_ticks)
		k->end.state.flow.ticks = p->end.ticks;
	os_lock(p->lock);
	old = p->end;
	p->end = k->end;
	k->end = old;
	os_unlock(p->lock);
}

static void join(struct etm_parallel *p, struct etm_part *k)
{
	join_edge(p, k);
	give_outs(p, p->end.lane, &p->end.rest);
	give_outs(p, k->end.lane, &k->outs);
	set_end(p, k);
}

struct etm_flow *etm_ring_resume(struct etm_parallel *p)
{
	if (p->err)
		return NULL;
	etm_ring_hold(p);
	if (etm_end_resume(&p->end))
		return p->end.lane->flow;
	p->err = CLEW_NO_MEMORY;
	etm_ring_release(p);
	return NULL;
}

void etm_ring_suspend(struct etm_parallel *p)
{
	struct etm_flow *f = p->end.lane->flow;

	flow_deliver(&f->flow);
	if (!p->err)
		p->err = f->flow.err;
	etm_end_set(&p->end, p->end.lane);
	p->end.lane->is_full = flow_wants_room(&f->flow);
	if (!p->err)
		p->err = etm_lane_tell_fresh(p->end.lane) ? f->flow.err : CLEW_NO_MEMORY;
	etm_ring_release(p);
}

/** Decode what could not be decoded ahead, or does not fit. */
static void decode_in_turn(struct etm_parallel *p, struct etm_part *k)
{
	struct etm_flow *f;

	etm_ring_hold(p);
	if (k->stage == ETM_PART_DONE && k->err && !p->opts.flow.batch)
		p->err = k->err;
	else if (k->stage == ETM_PART_DONE)
		etm_part_uncount(k->end.lane, k);
	f = etm_ring_resume(p);
	if (f) {
		flow_feed(&f->flow, k->in);
		etm_ring_suspend(p);
	}
	etm_ring_release(p);
}

/** So much of the next parts that what comes of them finds room. */
static void adapt(struct etm_parallel *p, const struct etm_part *k)
{
	size_t room = p->lanes[0].most_bytes / 2, most = p->parts[0].room / 2;
	size_t bytes = bytes_left(&k->in);
	size_t fit = k->outs.bytes ? (size_t)((uint64_t)bytes * room / k->outs.bytes) : most;

	if (k->is_too_much)
		fit = bytes / 4;
	p->part_bytes = fit < most ? fit : most;
	if (p->part_bytes < most && p->part_bytes < ETM_MIN_PART_BYTES)
		p->part_bytes = most < ETM_MIN_PART_BYTES ? most : ETM_MIN_PART_BYTES;
}

static void join_first(struct etm_parallel *p, struct etm_part *k)
{
	bool is_done = k->stage == ETM_PART_DONE;

	if (is_done)
		adapt(p, k);
	if (is_done && fits(p, k))
		join(p, k);
	else
		decode_in_turn(p, k);
	etm_part_forget(&p->buffers, k);
	os_lock(p->lock);
	k->stage = ETM_PART_OPEN;
	p->first = (p->first + 1) % p->nr_parts;
	p->nr--;
	os_unlock(p->lock);
}

/** Join the oldest parts, as far as they are done or can only be decoded now. */
static void join_ready(struct etm_parallel *p)
{
	while (p->nr && !p->err) {
		struct etm_part *k = etm_ring_part(p, 0);
		enum etm_part_stage stage;

		os_lock(p->lock);
		stage = k->stage;
		os_unlock(p->lock);
		if (stage != ETM_PART_DONE && k->is_cut)
			return;
		join_first(p, k);
	}
}

static void make_room_in(struct etm_parallel *p, struct etm_lane *l)
{
	uint32_t epoch = l->flow->flow.epoch;
	bool is_end = l == p->end.lane;
	struct etm_flow *f = is_end ? etm_ring_resume(p) : l->flow;

	if (!f)
		return;
	if (!is_end || (f->flow.from == FLOW_NO_BLOCK && f->flow.last_edge.kind == FLOW_EDGE_NONE))
		flow_make_room(&f->flow);
	if (f->flow.epoch != epoch)
		l->shown.nr = l->fresh.nr = l->nr_told = 0;
	if (is_end)
		etm_ring_suspend(p);
	l->is_full = false;
}

/** In the caller's lane. @return false: none is ready. */
static bool decode_oldest(struct etm_parallel *p)
{
	struct etm_lane *l = &p->lanes[0];
	struct etm_part *k;
	bool is_direct;

	os_lock(p->lock);
	k = claim_oldest(p);
	is_direct = l->is_direct;
	os_unlock(p->lock);
	if (!k)
		return false;
	etm_part_decode(l, k);
	/* What the consumer has already cannot be decoded again. */
	if (is_direct && k->err && !k->is_too_much && !p->err)
		p->err = k->err;
	os_lock(p->lock);
	is_done(l, k);
	os_unlock(p->lock);
	join_ready(p);
	return true;
}

/** In a hold. */
static bool has_done(const struct etm_parallel *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		if (etm_ring_part(p, i)->stage == ETM_PART_DONE)
			return true;
	}
	return false;
}

/** A lane whose cache is full waits for this: the parts that it decoded have to be joined first. */
static void make_room(struct etm_parallel *p)
{
	bool is_full = false;

	os_lock(p->lock);
	for (uint32_t i = 0; i < p->nr_lanes; i++)
		is_full |= p->lanes[i].is_full;
	os_unlock(p->lock);
	if (!is_full)
		return;
	etm_ring_hold(p);
	join_ready(p);
	while (!p->err && has_done(p))
		decode_oldest(p);
	for (uint32_t i = 0; i < p->nr_lanes && !p->err; i++) {
		if (p->lanes[i].is_full)
			make_room_in(p, &p->lanes[i]);
	}
	etm_ring_release(p);
}

/** Decode a part here, or wait until something has changed. */
static void help(struct etm_parallel *p)
{
	bool is_running;

	if (!p->lanes[0].is_full && decode_oldest(p))
		return;
	os_lock(p->lock);
	is_running = etm_ring_part(p, 0)->stage == ETM_PART_RUNNING;
	if (is_running)
		os_lock_wait(p->lock);
	os_unlock(p->lock);
}

void etm_ring_join_until(struct etm_parallel *p, size_t nr)
{
	for (;;) {
		join_ready(p);
		make_room(p);
		if (p->err || p->nr <= nr)
			return;
		help(p);
	}
}
