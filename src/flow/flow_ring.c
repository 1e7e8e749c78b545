/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_ring.h"

#include "flow/flow_one.h"

/* --- batches --- */

static enum clew_err give(struct flow_parallel *p, const struct flow_worker *w, struct flow_batch b)
{
	b.epoch = b.epoch * p->nr_workers + w->nr;
	return p->opts.batch(p->opts.ctx, &b);
}

static bool show_fresh(struct flow_parallel *p, struct flow_worker *w)
{
	struct flow_block_list *to = &w->shown, *from = &w->fresh;
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

/** Give the consumer the batches that worker @p w holds. */
static void give_held(struct flow_parallel *p, struct flow_worker *w, struct flow_held_batches *h)
{
	if (!h->nr)
		return;
	if (!show_fresh(p, w))
		p->err = CLEW_NO_MEMORY;
	for (size_t i = 0; i < h->nr && !p->err; i++) {
		const struct flow_held_batch *held = &h->data[i];
		struct flow_batch b = {.items = held->items,
				       .nr = held->nr_items,
				       .blocks = w->shown.data,
				       .events = held->events.data,
				       .epoch = w->flow->epoch};

		p->err = give(p, w, b);
	}
	flow_held_forget(&p->buffers, h);
}

enum clew_err flow_ring_batch(void *ctx, const struct flow_batch *b)
{
	struct flow_worker *w = ctx;
	struct flow_parallel *p = w->p;

	if (w->held && w->is_direct && w->flow->first == FLOW_FIRST_RAN) {
		give_held(p, p->end.worker, &p->end.rest);
		if (!p->err)
			give_held(p, w, w->held);
		if (!p->err)
			p->err = give(p, w, *b);
		return p->err;
	}
	return w->held ? flow_worker_batch(w, b) : give(p, w, *b);
}

/* --- workers --- */

/** Under the lock. */
static void begin_part(struct flow_parallel *p, struct flow_part *k)
{
	const struct flow_end *e = &p->end;

	k->stage = FLOW_PART_RUNNING;
	k->context = e->state.context;
	p->front->assume(&k->context, &e->context, e->needs_context);
	k->ticks = e->ticks;
	k->bound = e->state.bound;
	memcpy(k->reported, e->state.reported, sizeof(k->reported));
}

/** The newest part that is ready, so that the caller finds the oldest ready, too: its batches
 * need not wait. Under the lock. */
static struct flow_part *claim(struct flow_parallel *p, const struct flow_worker *w)
{
	if (p->nr_holds || w->is_full)
		return NULL;
	for (size_t i = p->nr; i-- > 0;) {
		struct flow_part *k = flow_ring_part(p, i);

		if (k->stage != FLOW_PART_READY || !k->is_cut)
			continue;
		begin_part(p, k);
		return k;
	}
	return NULL;
}

/** Branches without a bit may be on the way to where a part begins. */
static bool has_silent(const struct flow_parallel *p)
{
	return p->workers[0].flow->rules.silent_kinds;
}

/** For the caller: the oldest that is ready. Under the lock. */
static struct flow_part *claim_oldest(struct flow_parallel *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		struct flow_part *k = flow_ring_part(p, i);

		if (k->stage != FLOW_PART_READY || !k->is_cut)
			continue;
		begin_part(p, k);
		p->workers[0].is_direct = !i && !has_silent(p) && p->end.is_running &&
					  !p->end.needs_context && p->end.offset == k->offset;
		return k;
	}
	return NULL;
}

/** Under the lock. */
static void is_done(struct flow_worker *w, struct flow_part *k)
{
	if (!flow_worker_put_fresh(w))
		k->err = CLEW_NO_MEMORY;
	k->stage = FLOW_PART_DONE;
	w->is_full = flow_wants_room(w->flow);
}

/** Under the lock, but not all the time. */
static void count_totals(struct flow_worker *w)
{
	struct flow_parallel *p = w->p;

	w->wants_totals = false;
	os_unlock(p->lock);
	flow_counts_totals(w->flow);
	os_lock(p->lock);
	p->nr_to_total--;
	os_lock_wake_all(p->lock);
}

static void run_worker(void *ctx)
{
	struct flow_worker *w = ctx;
	struct flow_parallel *p = w->p;

	os_lock(p->lock);
	while (!p->is_over) {
		struct flow_part *k;

		if (w->wants_totals) {
			count_totals(w);
			continue;
		}
		k = claim(p, w);
		if (!k) {
			os_lock_wait(p->lock);
			continue;
		}
		p->nr_running++;
		os_unlock(p->lock);
		flow_part_decode(w, k);
		os_lock(p->lock);
		is_done(w, k);
		p->nr_running--;
		os_lock_wake_all(p->lock);
	}
	os_unlock(p->lock);
}

void flow_ring_start(struct flow_parallel *p)
{
	for (uint32_t i = 1; !p->has_threads && i < p->nr_workers; i++)
		p->workers[i].thread = os_thread_start(run_worker, &p->workers[i]);
	p->has_threads = true;
}

void flow_ring_stop(struct flow_parallel *p)
{
	os_lock(p->lock);
	p->is_over = true;
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
	for (uint32_t i = 1; i < p->nr_workers; i++)
		os_thread_join(p->workers[i].thread);
}

void flow_ring_hold(struct flow_parallel *p)
{
	os_lock(p->lock);
	p->nr_holds++;
	while (p->nr_running)
		os_lock_wait(p->lock);
	os_unlock(p->lock);
}

void flow_ring_release(struct flow_parallel *p)
{
	os_lock(p->lock);
	p->nr_holds--;
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
}

void flow_ring_count_totals(struct flow_parallel *p)
{
	os_lock(p->lock);
	for (uint32_t i = 1; i < p->nr_workers; i++) {
		p->workers[i].wants_totals = p->workers[i].thread;
		p->nr_to_total += p->workers[i].wants_totals;
	}
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
	flow_counts_totals(p->workers[0].flow);
	os_lock(p->lock);
	while (p->nr_to_total)
		os_lock_wait(p->lock);
	os_unlock(p->lock);
}

/* --- joins --- */

/** Did the part see the code of @p ticks, until it had a time of its own? */
static bool saw_code_of(const struct flow_parallel *p, const struct flow_part *k,
			struct clew_ticks ticks)
{
	const struct code_source *code = p->opts.code;

	if (ticks.ticks == k->ticks.ticks)
		return true;
	for (unsigned int i = 0; i < k->nr_asked && k->nr_asked <= FLOW_MAX_ASKED; i++) {
		struct code_key key = k->asked[i].key;

		key.ticks = ticks;
		if (code->space(code->ctx, &key) != k->asked[i].space)
			return false;
	}
	return k->nr_asked <= FLOW_MAX_ASKED;
}

/** Was the assumed context right? An exception return may lead to another one. */
static bool has_its_context(const struct flow_parallel *p, const struct flow_part *k)
{
	const struct flow_end *e = &p->end;

	return k->has_own_context || (!(e->has_from && e->from.flags & INSN_ERET) &&
				      p->front->is_as_assumed(&k->context, &e->context, k->place));
}

/** Is execution where the part begins, or not traced, as there? */
static bool is_at_its_place(const struct flow_end *e, const struct flow_part *k)
{
	if (k->place == FLOW_NO_ADDRESS)
		return e->pc == FLOW_NO_ADDRESS && !e->needs_context;
	return e->pc == k->first_to;
}

/** Does what was decoded before part @p k end as the part assumes? */
static bool fits(const struct flow_parallel *p, const struct flow_part *k)
{
	const struct flow_end *e = &p->end;

	return !k->err && k->first == FLOW_FIRST_RAN &&
	       !memcmp(k->reported, e->state.reported, sizeof(k->reported)) && e->is_running &&
	       e->offset == k->offset && (!has_silent(p) || is_at_its_place(e, k)) &&
	       saw_code_of(p, k, e->ticks) && has_its_context(p, k);
}

/** The branch that came last went to where the part begins. */
static void join_edge(struct flow_parallel *p, const struct flow_part *k)
{
	const uint64_t once[2] = {0, 1};
	uint32_t at;

	if (p->opts.batch || !p->end.has_from || k->has_first_to != FLOW_TO_KNOWN)
		return;
	at = flow_count_store_add_block(&p->joins, &p->end.from, once);
	if (at == FLOW_NOT_STORED || !flow_count_store_add_edge(&p->joins, at, k->first_to, 1))
		p->err = CLEW_NO_MEMORY;
}

/** As flow_put_ticks() would have, if it had known @p shown. */
static void raise_ticks(struct flow_held_batches *h, struct clew_ticks shown)
{
	if (!shown.ticks)
		return;
	vec_for_each (h, b) {
		vec_for_each (&b->events, e) {
			if (e->kind != FLOW_EV_TIMESTAMP)
				continue;
			if (e->ticks.ticks >= shown.ticks)
				return;
			e->ticks = shown;
		}
	}
}

/** The end of part @p k is where decoding stands. */
static void set_end(struct flow_parallel *p, struct flow_part *k)
{
	struct flow_end old;

	if (!k->end.has_own_ticks)
		k->end.ticks = p->end.ticks;
	if (!k->end.state.has_own_ticks)
		k->end.state.ticks = p->end.ticks;
	if (k->end.state.shown.ticks < p->end.state.shown.ticks)
		k->end.state.shown = p->end.state.shown;
	os_lock(p->lock);
	old = p->end;
	p->end = k->end;
	k->end = old;
	os_unlock(p->lock);
}

static void join(struct flow_parallel *p, struct flow_part *k)
{
	join_edge(p, k);
	give_held(p, p->end.worker, &p->end.rest);
	raise_ticks(&k->held, p->end.state.shown);
	give_held(p, k->end.worker, &k->held);
	set_end(p, k);
}

struct flow *flow_ring_resume(struct flow_parallel *p)
{
	if (p->err)
		return NULL;
	flow_ring_hold(p);
	if (flow_end_resume(&p->end))
		return p->end.worker->flow;
	p->err = CLEW_NO_MEMORY;
	flow_ring_release(p);
	return NULL;
}

void flow_ring_suspend(struct flow_parallel *p)
{
	struct flow *f = p->end.worker->flow;

	flow_deliver(f);
	if (!p->err)
		p->err = f->err;
	flow_end_set(&p->end, p->end.worker);
	p->end.worker->is_full = flow_wants_room(f);
	if (!p->err)
		p->err = flow_worker_put_fresh(p->end.worker) ? f->err : CLEW_NO_MEMORY;
	flow_ring_release(p);
}

/** Decode what could not be decoded ahead, or does not fit. */
static void decode_in_turn(struct flow_parallel *p, struct flow_part *k)
{
	struct flow *f;

	flow_ring_hold(p);
	if (k->stage == FLOW_PART_DONE && k->err && !p->opts.batch)
		p->err = k->err;
	else if (k->stage == FLOW_PART_DONE)
		flow_part_uncount(k->end.worker, k);
	f = flow_ring_resume(p);
	if (f) {
		flow_one_feed(f, k->in);
		flow_part_reach(f, k);
		flow_ring_suspend(p);
	}
	flow_ring_release(p);
}

/** So much of the next parts that what comes of them finds room. */
static void adapt(struct flow_parallel *p, const struct flow_part *k)
{
	size_t room = p->workers[0].most_bytes / 2, most = p->parts[0].room / 2;
	size_t bytes = bytes_left(&k->in);
	size_t fit = k->held.bytes ? (size_t)((uint64_t)bytes * room / k->held.bytes) : most;

	if (k->is_too_much)
		fit = bytes / 4;
	p->part_bytes = fit < most ? fit : most;
	if (p->part_bytes < most && p->part_bytes < FLOW_MIN_PART_BYTES)
		p->part_bytes = most < FLOW_MIN_PART_BYTES ? most : FLOW_MIN_PART_BYTES;
}

static void join_first(struct flow_parallel *p, struct flow_part *k)
{
	bool is_done = k->stage == FLOW_PART_DONE;

	if (is_done)
		adapt(p, k);
	if (is_done && fits(p, k))
		join(p, k);
	else
		decode_in_turn(p, k);
	flow_part_forget(&p->buffers, k);
	os_lock(p->lock);
	k->stage = FLOW_PART_OPEN;
	p->first = (p->first + 1) % p->nr_parts;
	p->nr--;
	os_unlock(p->lock);
}

/** Join the oldest parts, as far as they are done or can only be decoded now. */
static void join_ready(struct flow_parallel *p)
{
	while (p->nr && !p->err) {
		struct flow_part *k = flow_ring_part(p, 0);
		enum flow_part_stage stage;

		os_lock(p->lock);
		stage = k->stage;
		os_unlock(p->lock);
		if (stage != FLOW_PART_DONE && k->is_cut)
			return;
		join_first(p, k);
	}
}

static void make_room_in(struct flow_parallel *p, struct flow_worker *w)
{
	uint32_t epoch = w->flow->epoch;
	bool is_end = w == p->end.worker;
	struct flow *f = is_end ? flow_ring_resume(p) : w->flow;

	if (!f)
		return;
	if (!is_end || (f->from == FLOW_NO_BLOCK && f->last_edge.kind == FLOW_EDGE_NONE))
		flow_make_room(f);
	if (f->epoch != epoch)
		w->shown.nr = w->fresh.nr = w->nr_known = 0;
	if (is_end)
		flow_ring_suspend(p);
	w->is_full = false;
}

/** In the caller's worker. @return false: none is ready. */
static bool decode_oldest(struct flow_parallel *p)
{
	struct flow_worker *w = &p->workers[0];
	struct flow_part *k;
	bool is_direct;

	os_lock(p->lock);
	k = claim_oldest(p);
	is_direct = w->is_direct;
	os_unlock(p->lock);
	if (!k)
		return false;
	flow_part_decode(w, k);
	/* What the consumer has already cannot be decoded again. */
	if (is_direct && k->err && !k->is_too_much && !p->err)
		p->err = k->err;
	os_lock(p->lock);
	is_done(w, k);
	os_unlock(p->lock);
	join_ready(p);
	return true;
}

/** In a hold. */
static bool has_done(const struct flow_parallel *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		if (flow_ring_part(p, i)->stage == FLOW_PART_DONE)
			return true;
	}
	return false;
}

/** A worker with a full cache waits for this: the parts that it decoded have to be joined first.
 */
static void make_room(struct flow_parallel *p)
{
	bool is_full = false;

	os_lock(p->lock);
	for (uint32_t i = 0; i < p->nr_workers; i++)
		is_full |= p->workers[i].is_full;
	os_unlock(p->lock);
	if (!is_full)
		return;
	flow_ring_hold(p);
	join_ready(p);
	while (!p->err && has_done(p))
		decode_oldest(p);
	for (uint32_t i = 0; i < p->nr_workers && !p->err; i++) {
		if (p->workers[i].is_full)
			make_room_in(p, &p->workers[i]);
	}
	flow_ring_release(p);
}

/** Decode a part here, or wait until something has changed. */
static void help(struct flow_parallel *p)
{
	bool is_running;

	if (!p->workers[0].is_full && decode_oldest(p))
		return;
	os_lock(p->lock);
	is_running = flow_ring_part(p, 0)->stage == FLOW_PART_RUNNING;
	if (is_running)
		os_lock_wait(p->lock);
	os_unlock(p->lock);
}

void flow_ring_join_until(struct flow_parallel *p, size_t nr)
{
	for (;;) {
		join_ready(p);
		make_room(p);
		if (p->err || p->nr <= nr)
			return;
		help(p);
	}
}
