/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_parallel.h"

#include "flow/flow_counts_merge.h"
#include "flow/flow_one.h"
#include "flow/flow_ring.h"

enum {
	MAX_WORKERS = 64,
	MAX_PART_BYTES = 64 << 10,
	SYNC_BYTES = 96, /* of a synchronisation that says all, mostly */
	SEARCH_BYTES = 16 << 10,
};

/* --- input --- */

/** The place of the next part. NULL: p->err. */
static struct flow_part *next_part(struct flow_parallel *p)
{
	struct flow_part *k;

	flow_ring_join_until(p, p->nr_parts - 1);
	if (p->err)
		return NULL;
	k = flow_ring_part(p, p->nr);
	k->nr = k->nr_searched = 0;
	k->is_cut = p->is_next_cut;
	k->place = p->next_place;
	k->offset = p->offset;
	return k;
}

/** To be filled. NULL: p->err. */
static struct flow_part *open_part(struct flow_parallel *p)
{
	struct flow_part *k = next_part(p);

	if (k && !k->bytes)
		k->bytes = mem_alloc(k->room);
	if (k && !k->bytes) {
		p->err = CLEW_NO_MEMORY;
		return NULL;
	}
	p->open = k;
	return k;
}

/** Part @p k is the first @p size bytes of @p in. */
static void hand_out(struct flow_parallel *p, struct flow_part *k, struct bytes in, size_t size,
		     bool is_next_cut)
{
	struct bytes next = bytes_of(in.pos + size, bytes_left(&in) - size);
	size_t said_at = 0;

	p->next_place = 0;
	if (is_next_cut && p->front->reach)
		p->next_place = p->front->place_of_cut(p->workers[0].flow, next, &said_at);
	k->reaches = is_next_cut && p->front->reach && p->next_place != FLOW_NO_ADDRESS;
	k->reach_to = p->next_place;
	k->reach_offset = k->offset + size + said_at;
	in = bytes_of(in.pos, size);
	k->in = in;
	if (bytes_left(&in) < FLOW_MIN_PART_BYTES && !p->opts.part_bytes)
		k->is_cut = false;
	p->offset = k->offset + bytes_left(&in);
	p->is_next_cut = is_next_cut;
	p->open = NULL;
	if (is_next_cut)
		flow_ring_start(p);
	os_lock(p->lock);
	k->stage = FLOW_PART_READY;
	p->nr++;
	os_lock_wake_all(p->lock);
	os_unlock(p->lock);
}

/** The open part ends at @p at; what follows begins the next. */
static void close_part(struct flow_parallel *p, size_t at, bool is_next_cut)
{
	struct flow_part *k = p->open;
	struct bytes rest = bytes_of(k->bytes + at, k->nr - at);

	hand_out(p, k, bytes_of(k->bytes, k->nr), at, is_next_cut);
	if (!bytes_left(&rest))
		return;
	k = open_part(p);
	if (!k)
		return;
	k->nr = bytes_left(&rest);
	memmove(k->bytes, rest.pos, k->nr);
}

/** Where a part ends at the earliest. One that can only be decoded in its turn is as small as can
 * be. */
static size_t least_bytes(const struct flow_parallel *p, bool is_cut)
{
	return is_cut ? p->part_bytes : 1;
}

static size_t find_cut(const struct flow_parallel *p, struct bytes in, size_t from, size_t to)
{
	return p->front->find_cut(p->workers[0].flow, in, from, to);
}

/** Cut the open part, if it is large enough and there is a place. @return whether it was. */
static bool cut(struct flow_parallel *p)
{
	struct flow_part *k = p->open;
	bool is_full = k->nr == k->room;
	size_t from = least_bytes(p, k->is_cut), at;
	size_t to = is_full ? k->nr : k->nr - (k->nr < SYNC_BYTES ? k->nr : SYNC_BYTES);

	if (from < k->nr_searched)
		from = k->nr_searched;
	if (from < to) {
		at = find_cut(p, bytes_of(k->bytes, k->nr), from, to);
		k->nr_searched = to;
		if (at < to) {
			close_part(p, at, true);
			return true;
		}
	}
	if (is_full)
		close_part(p, k->nr, false);
	return is_full;
}

/** Into the open part. @return whether that was handed out. */
static bool take_copy(struct flow_parallel *p, struct bytes *in)
{
	struct flow_part *k = p->open ? p->open : open_part(p);
	size_t left = bytes_left(in), n;

	if (!k)
		return false;
	n = k->is_cut && k->nr < p->part_bytes ? p->part_bytes - k->nr : SEARCH_BYTES;
	n = n < k->room - k->nr ? n : k->room - k->nr;
	n = n < left ? n : left;
	memcpy(k->bytes + k->nr, in->pos, n);
	in->pos += n;
	k->nr += n;
	return cut(p);
}

/** Parts of a large input stay where they are. */
static void take_in_place(struct flow_parallel *p, struct bytes *in)
{
	while (!p->err && bytes_left(in) > p->parts[0].room) {
		struct flow_part *k = next_part(p);
		size_t room = p->parts[0].room, from, at;

		if (!k)
			return;
		from = least_bytes(p, k->is_cut);
		at = find_cut(p, *in, from, room);
		hand_out(p, k, *in, at, at < room);
		in->pos += at;
	}
}

enum clew_err flow_parallel_feed(struct flow_parallel *p, struct bytes in)
{
	const uint8_t *begin = in.pos;
	bool is_large = bytes_left(&in) / 4 / p->nr_parts >= p->parts[0].room;

	while (!p->err && bytes_left(&in)) {
		if (is_large && !p->open)
			take_in_place(p, &in);
		/* What follows the cut is in @p in, too. */
		if (take_copy(p, &in) && is_large && p->open &&
		    p->open->nr <= (size_t)(in.pos - begin)) {
			in.pos -= p->open->nr;
			p->open = NULL;
		}
	}
	if (is_large)
		flow_ring_join_until(p, 0);
	/* Never released: queued parts still point into the caller's buffer. */
	if (p->err)
		flow_ring_hold(p);
	return p->err;
}

/** Decode all there is. */
static void drain(struct flow_parallel *p)
{
	if (p->open && p->open->nr && !p->err)
		close_part(p, p->open->nr, false);
	p->open = NULL;
	flow_ring_join_until(p, 0);
}

/* --- as flow.h --- */

enum clew_err flow_parallel_restart(struct flow_parallel *p, uint64_t offset)
{
	struct flow *f;

	drain(p);
	f = flow_ring_resume(p);
	if (f) {
		flow_one_restart(f, offset);
		flow_ring_suspend(p);
	}
	p->offset = offset;
	return p->err;
}

enum clew_err flow_parallel_finish(struct flow_parallel *p)
{
	struct flow *f;

	drain(p);
	f = flow_ring_resume(p);
	if (f) {
		flow_one_finish(f);
		flow_ring_suspend(p);
	}
	if (!p->opts.batch && !p->err)
		flow_ring_count_totals(p);
	return p->err;
}

void flow_parallel_set_bound(struct flow_parallel *p, struct clew_perf_ns bound)
{
	struct flow *f;

	if (bound.ns == p->end.state.bound.ns)
		return;
	drain(p);
	f = flow_ring_resume(p);
	if (f) {
		flow_one_set_bound(f, bound);
		flow_ring_suspend(p);
	}
}

/** And half as much again for batches that wait, and a quarter for the input. */
void flow_parallel_set_max_cache(struct flow_parallel *p, size_t bytes)
{
	flow_ring_hold(p);
	for (uint32_t i = 0; i < p->nr_workers; i++) {
		p->workers[i].flow->opts.max_cache_bytes = bytes / p->nr_workers;
		p->workers[i].most_bytes = bytes / 2 / p->nr_parts;
	}
	flow_ring_release(p);
}

const struct flow_totals *flow_parallel_totals(struct flow_parallel *p)
{
	flow_ring_hold(p);
	p->totals = (struct flow_totals){0};
	for (uint32_t i = 0; i < p->nr_workers; i++)
		flow_totals_add(&p->totals, flow_counts_totals(p->workers[i].flow));
	flow_ring_release(p);
	return &p->totals;
}

/* --- edges --- */

struct edge_sink {
	struct flow_parallel *p;
	bool (*edge)(void *ctx, const struct flow_edge *e);
	void *ctx;
};

/** Where a worker does not know where a branch went, another may. */
static bool give_edge(void *ctx, const struct flow_edge *e)
{
	const struct edge_sink *t = ctx;
	const uint64_t none[2] = {0, 0};
	struct flow_edge left = *e;
	uint32_t at;

	if (!flow_is_indirect(e->from) || !e->is_taken || e->has_to)
		return t->edge(t->ctx, e);
	at = flow_count_store_add_block(&t->p->joins, e->from, none);
	if (at == FLOW_NOT_STORED)
		return false;
	left.nr -= t->p->joins.blocks.data[at].nr[1];
	return !left.nr || t->edge(t->ctx, &left);
}

bool flow_parallel_edges(struct flow_parallel *p,
			 bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx)
{
	struct edge_sink t = {p, edge, ctx};
	bool is_ok = true;

	if (p->opts.batch)
		return true;
	flow_ring_hold(p);
	for (uint32_t i = 1; i < p->nr_workers && is_ok; i++)
		is_ok = flow_counts_merge(p->workers[0].flow, p->workers[i].flow);
	is_ok = is_ok && flow_counts_edges(p->workers[0].flow, give_edge, &t);
	for (size_t i = 0; i < p->joins.edges.nr && is_ok; i++) {
		const struct flow_stored_edge *j = &p->joins.edges.data[i];
		struct flow_edge e = {&p->joins.blocks.data[j->from].block, j->to, j->nr, true,
				      true};

		is_ok = edge(ctx, &e);
	}
	flow_ring_release(p);
	return is_ok;
}

/* --- */

static bool add_worker(struct flow_parallel *p, uint32_t nr, const void *own)
{
	struct flow_worker *w = &p->workers[nr];
	struct flow_opts o = p->opts;

	w->p = p;
	w->nr = nr;
	w->buffers = &p->buffers;
	o.nr_threads = 1;
	o.batch = p->opts.batch ? flow_ring_batch : NULL;
	o.ctx = w;
	w->flow = flow_one_new(p->front, &o, own);
	return w->flow;
}

static bool begin(struct flow_parallel *p, const void *own)
{
	size_t room = p->opts.max_cache_bytes / 4 / p->nr_parts;
	bool is_ok = p->lock && p->buffers.lock && p->workers && p->parts;

	if (room > 2 * MAX_PART_BYTES)
		room = 2 * MAX_PART_BYTES;
	if (p->opts.part_bytes)
		room = 2 * p->opts.part_bytes;
	p->part_bytes = room / 2;
	for (uint32_t i = 0; is_ok && i < p->nr_workers; i++)
		is_ok = add_worker(p, i, own);
	for (size_t i = 0; is_ok && i < p->nr_parts; i++)
		p->parts[i].room = room;
	if (is_ok) {
		flow_end_set(&p->end, &p->workers[0]);
		flow_parallel_set_max_cache(p, p->opts.max_cache_bytes);
	}
	return is_ok;
}

struct flow_parallel *flow_parallel_new(const struct flow_front *front,
					const struct flow_opts *opts, const void *own)
{
	struct flow_parallel *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	p->front = front;
	p->opts = *opts;
	p->nr_workers = opts->nr_threads < MAX_WORKERS ? opts->nr_threads : MAX_WORKERS;
	p->nr_parts = 3 * (size_t)p->nr_workers + 2;
	p->lock = os_lock_new();
	p->buffers.lock = os_lock_new();
	p->workers = mem_calloc(p->nr_workers, sizeof(*p->workers));
	p->parts = mem_calloc(p->nr_parts, sizeof(*p->parts));
	if (begin(p, own))
		return p;
	flow_parallel_free(p);
	return NULL;
}

void flow_parallel_free(struct flow_parallel *p)
{
	if (!p)
		return;
	if (p->lock && p->workers)
		flow_ring_stop(p);
	for (size_t i = 0; p->parts && p->buffers.lock && i < p->nr_parts; i++)
		flow_part_done(&p->buffers, &p->parts[i]);
	if (p->buffers.lock)
		flow_end_done(&p->buffers, &p->end);
	for (uint32_t i = 0; p->workers && i < p->nr_workers; i++) {
		flow_one_free(p->workers[i].flow);
		vec_done(&p->workers[i].shown);
		vec_done(&p->workers[i].fresh);
	}
	flow_buffers_done(&p->buffers);
	flow_count_store_done(&p->joins);
	os_lock_free(p->lock);
	mem_free(p->workers);
	mem_free(p->parts);
	mem_free(p);
}
