/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_core.h"

void flow_count_target(struct flow *f, uint32_t from, uint32_t to, int64_t nr)
{
	struct flow_targets *t = &f->blocks.targets.data[f->blocks.links.data[from].other];
	uint64_t key = (uint64_t)from << 32 | to, *old;

	for (size_t i = 0; i < FLOW_NR_TARGETS; i++) {
		if (t->to[i] == FLOW_NO_BLOCK)
			t->to[i] = to;
		if (t->to[i] == to) {
			t->nr[i] += (uint32_t)nr;
			return;
		}
	}
	if (f->items)
		return;
	old = map_u64_get(&f->more_targets, key);
	if (old)
		*old += (uint64_t)nr;
	else if (!map_u64_put(&f->more_targets, key, (uint64_t)nr))
		flow_fail(f, CLEW_NO_MEMORY);
}

void flow_ran(struct flow *f, uint64_t from, uint64_t to, uint32_t nr_insns)
{
	const uint64_t once[2] = {(uint64_t)(int64_t)(int32_t)f->step, 0};
	const struct flow_span span = {from, to, f->space, f->isa};
	struct flow_block piece = {.start = from,
				   .bytes = (uint32_t)(to - from),
				   .nr_insns = (uint16_t)nr_insns,
				   .space = f->space,
				   .isa = (uint8_t)f->isa,
				   .last_bytes = flow_insn_counter_last(&f->insn_counter, &f->code,
									&span)};

	if (flow_count_store_add_block(&f->pieces, &piece, once) == FLOW_NOT_STORED)
		flow_fail(f, CLEW_NO_MEMORY);
}

/** Branches of the path's letter @p i; fewer than it has where the path is cut. */
static struct flow_letter letter_of_path(const struct flow *f, const struct flow_path *p,
					 unsigned int i)
{
	struct flow_letter ret = flow_letter_of(f, p, i);
	const struct flow_path_more *more;

	if (!(p->more & FLOW_PATH_IS_CUT))
		return ret;
	more = flow_path_more(&f->paths, p);
	if (i == more->nr_bytes)
		ret.nr = (uint8_t)(more->rest ? ret.nr - f->rules.letters[more->rest].nr : 0);
	return i > more->nr_bytes ? (struct flow_letter){0} : ret;
}

/** A walk along a path that was walked before: all links are known. */
struct again {
	struct flow *f;
	uint32_t at, last, nr_runs;
	uint32_t nr_insns;
	unsigned int nr_own, nr_silent;
	uint32_t own[FLOW_STACK_DEPTH]; /* calls */
};

/* Not all of own is cleared. */
static void begin_again(struct again *w, struct flow *f, const struct flow_path *p)
{
	w->f = f;
	w->at = p->from >> FLOW_FROM_BITS;
	w->last = w->nr_insns = 0;
	w->nr_own = w->nr_silent = 0;
}

static void pop_again(struct again *w)
{
	struct flow_blocks *b = &w->f->blocks;
	uint32_t call = w->own[--w->nr_own];
	const struct flow_block *k = &b->all.data[call];

	w->at = b->links.data[call].next[0];
	if (w->at == FLOW_NO_BLOCK) /* a silent one */
		w->at = flow_blocks_get(b, k->space, (enum isa)k->isa, k->start + k->bytes);
	flow_count_target(w->f, w->last, w->at, (int32_t)w->nr_runs);
}

static void take_again(struct again *w, bool is_taken)
{
	const struct flow_block *b = &w->f->blocks.all.data[w->at];

	w->nr_insns += b->nr_insns;
	w->f->blocks.counts.data[w->at].nr[is_taken] += w->nr_runs;
	if (is_taken && b->flags & INSN_LINK && w->f->rules.has_return_stack)
		w->own[w->nr_own++] = w->at;
	w->last = w->at;
	w->at = is_taken && flow_is_indirect(b) ? FLOW_NO_BLOCK
						: *flow_link_of(w->f, w->at, is_taken);
}

/** Up to the next waypoint that the trace has something of. */
static void pass_again(struct again *w)
{
	if (w->at == FLOW_NO_BLOCK)
		pop_again(w);
	for (; flow_is_silent(w->f, &w->f->blocks.all.data[w->at]); w->nr_silent++)
		take_again(w, true);
}

/** Calls, returns and indirect branches need the return stack; others have no bit. */
static void step_odd_again(struct again *w, bool is_taken)
{
	pass_again(w);
	take_again(w, is_taken);
}

/** The branch to @p to, where nothing is traced. */
static void leave_again(struct again *w, uint64_t to)
{
	if (w->at == FLOW_NO_BLOCK)
		pop_again(w);
	for (; !flow_leaves_by(&w->f->blocks.all.data[w->at], to); w->nr_silent++)
		take_again(w, true);
	take_again(w, true);
}

/** The branch that went to the path's address, if that has no bit. */
static void go_again(struct again *w, const struct flow_path *p)
{
	if (!(w->f->rules.silent_kinds >> INSN_INDIRECT & 1) || p->to == FLOW_NO_ADDRESS ||
	    p->more & FLOW_PATH_IS_CUT)
		return;
	if (p->from & FLOW_TO_UNTRACED)
		leave_again(w, p->to);
	else
		step_odd_again(w, true);
	w->nr_silent++;
}

/** @return branches. */
static uint64_t walk_again(struct again *w, const struct flow_path *p)
{
	const struct flow_link *links = w->f->blocks.links.data;
	struct flow_count *counts = w->f->blocks.counts.data;
	uint64_t nr_items = 0;
	struct flow_letter a;

	for (unsigned int i = 0; (a = letter_of_path(w->f, p, i)).nr; i++) {
		nr_items += a.nr;
		for (; a.nr; a.nr--, a.bits >>= 1) {
			uint32_t e = a.bits & 1, at = w->at;

			if (at == FLOW_NO_BLOCK || links[at].next[e] == FLOW_NO_BLOCK) {
				step_odd_again(w, e);
				continue;
			}
			counts[at].nr[e] += w->nr_runs;
			w->nr_insns += links[at].nr_insns;
			w->at = links[at].next[e];
		}
	}
	go_again(w, p);
	return nr_items + w->nr_silent;
}

/** Count the blocks and edges of a path that was taken. */
static void spread_path(struct flow *f, struct flow_path *p)
{
	struct again w;
	/* May be negative: uncounting can take another path than counting did. */
	int64_t nr_runs = (int32_t)p->nr_runs;

	begin_again(&w, f, p);
	w.nr_runs = p->nr_runs;
	f->totals.nr_ranges += walk_again(&w, p) * (uint64_t)nr_runs;
	f->totals.nr_insns += w.nr_insns * (uint64_t)nr_runs;
	if (w.at == FLOW_NO_BLOCK && p->next != FLOW_NO_BLOCK && !flow_path_is_to_untraced(p))
		flow_count_target(f, w.last, p->next, nr_runs);
	p->nr_runs = 0;
}

/** Where last_edge is the end of a path: the branch there, if there is one. */
static void find_last_edge(struct flow *f)
{
	struct flow_last_edge *t = &f->last_edge;
	const struct flow_path *p;
	struct again w;

	if (t->kind != FLOW_EDGE_OF_PATH)
		return;
	p = &f->paths.all.data[t->from];
	begin_again(&w, f, p);
	w.nr_runs = 0;
	walk_again(&w, p);
	*t = (struct flow_last_edge){FLOW_EDGE_NONE};
	if (w.at == FLOW_NO_BLOCK)
		*t = (struct flow_last_edge){FLOW_EDGE_OF_BRANCH, w.last, p->next, 0};
}

void flow_take_back_edge(struct flow *f)
{
	const struct flow_last_edge *t = &f->last_edge;
	int64_t nr = -(int64_t)(int32_t)f->step;

	find_last_edge(f);
	if (t->kind == FLOW_EDGE_OF_BRANCH)
		flow_count_target(f, t->from, t->to, nr);
	if (t->kind == FLOW_EDGE_STORED &&
	    !flow_count_store_add_edge(&f->stored, t->from, t->address, (uint64_t)nr))
		flow_fail(f, CLEW_NO_MEMORY);
	f->last_edge.kind = FLOW_EDGE_NONE;
}

static void spread(struct flow *f)
{
	vec_for_each (&f->paths.all, p) {
		if (p->nr_runs)
			spread_path(f, p);
	}
}

const struct flow_totals *flow_counts_totals(struct flow *f)
{
	if (!f->items)
		spread(f);
	return &f->totals;
}

/** Receives the counts of blocks and of targets of indirect branches. */
struct counts_sink {
	bool (*block)(void *ctx, uint32_t at, const uint64_t nr[2]);
	bool (*target)(void *ctx, uint32_t from, uint32_t to, uint64_t nr);
	void *ctx;
};

static bool give_targets(const struct flow *f, uint32_t at, const struct counts_sink *to)
{
	const struct flow_targets *t = &f->blocks.targets.data[f->blocks.links.data[at].other];

	for (size_t i = 0; i < FLOW_NR_TARGETS && t->to[i] != FLOW_NO_BLOCK; i++) {
		if (t->nr[i] && !to->target(to->ctx, at, t->to[i], t->nr[i]))
			return false;
	}
	return true;
}

static bool give_more_targets(const struct flow *f, const struct counts_sink *to)
{
	for (size_t i = 0; i < f->more_targets.cap; i++) {
		const struct map_u64_slot *s = &f->more_targets.slots[i];

		if (f->more_targets.used[i] && s->value &&
		    !to->target(to->ctx, (uint32_t)(s->key >> 32), (uint32_t)s->key, s->value))
			return false;
	}
	return true;
}

/** Targets come before the blocks. */
static bool give_all(struct flow *f, const struct counts_sink *to)
{
	spread(f);
	for (uint32_t at = 0; at < f->blocks.all.nr; at++) {
		if (flow_is_indirect(&f->blocks.all.data[at]) && !give_targets(f, at, to))
			return false;
	}
	if (!give_more_targets(f, to))
		return false;
	for (uint32_t at = 0; at < f->blocks.all.nr; at++) {
		const uint32_t *n = f->blocks.counts.data[at].nr;
		uint64_t nr[2] = {n[0], n[1]};

		if ((n[0] || n[1]) && !to->block(to->ctx, at, nr))
			return false;
	}
	return true;
}

/* --- to the consumer --- */

struct direct {
	struct flow *f;
	bool (*edge)(void *ctx, const struct flow_edge *e);
	void *ctx;
	uint64_t *nr_known; /* by block: how often it is known where its branch went */
};

static bool edge_to_target(void *ctx, uint32_t from, uint32_t to, uint64_t nr)
{
	struct direct *d = ctx;
	struct flow_edge e = {&d->f->blocks.all.data[from], d->f->blocks.all.data[to].start, nr,
			      true, true};

	d->nr_known[from] += nr;
	return d->edge(d->ctx, &e);
}

static bool edges_of_block(void *ctx, uint32_t at, const uint64_t nr[2])
{
	struct direct *d = ctx;

	return flow_block_edges(&d->f->blocks.all.data[at], nr, d->nr_known[at], d->edge, d->ctx);
}

/* --- to the store --- */

static bool store_target(void *ctx, uint32_t from, uint32_t to, uint64_t nr)
{
	struct flow *f = ctx;
	const uint64_t none[2] = {0, 0};
	uint32_t at = flow_count_store_add_block(&f->stored, &f->blocks.all.data[from], none);

	return at != FLOW_NOT_STORED &&
	       flow_count_store_add_edge(&f->stored, at, f->blocks.all.data[to].start, nr);
}

static bool store_block(void *ctx, uint32_t at, const uint64_t nr[2])
{
	struct flow *f = ctx;

	return flow_count_store_add_block(&f->stored, &f->blocks.all.data[at], nr) !=
	       FLOW_NOT_STORED;
}

void flow_counts_forget(struct flow *f)
{
	vec_for_each (&f->blocks.counts, n)
		n->nr[0] = n->nr[1] = 0;
	vec_for_each (&f->blocks.targets, t)
		memset(t->nr, 0, sizeof(t->nr));
	map_u64_done(&f->more_targets);
	f->nr_counted = 0;
}

/** It can be taken back from there. @return false: out of memory. */
static bool store_last_edge(struct flow *f)
{
	const uint64_t none[2] = {0, 0};
	struct flow_last_edge *t = &f->last_edge;
	uint64_t to;
	uint32_t at;

	find_last_edge(f);
	if (t->kind != FLOW_EDGE_OF_BRANCH)
		return true;
	to = f->blocks.all.data[t->to].start;
	at = flow_count_store_add_block(&f->stored, &f->blocks.all.data[t->from], none);
	*t = (struct flow_last_edge){FLOW_EDGE_NONE};
	if (at != FLOW_NOT_STORED)
		*t = (struct flow_last_edge){FLOW_EDGE_STORED, at, 0, to};
	return at != FLOW_NOT_STORED;
}

void flow_counts_store(struct flow *f)
{
	const struct counts_sink t = {store_block, store_target, f};

	if (f->items)
		return;
	if (!give_all(f, &t) || !store_last_edge(f))
		flow_fail(f, CLEW_NO_MEMORY);
	flow_counts_forget(f);
}

static bool give_directly(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e),
			  void *ctx)
{
	struct direct d = {f, edge, ctx, mem_calloc(f->blocks.all.nr + 1, sizeof(uint64_t))};
	const struct counts_sink t = {edges_of_block, edge_to_target, &d};
	bool is_ok = d.nr_known && give_all(f, &t);

	mem_free(d.nr_known);
	return is_ok;
}

bool flow_counts_edges(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e),
		       void *ctx)
{
	if (f->items)
		return true;
	if (!f->stored.blocks.nr) {
		if (!give_directly(f, edge, ctx))
			return false;
	} else {
		flow_counts_store(f);
		if (f->err || !flow_count_store_edges(&f->stored, edge, ctx))
			return false;
	}
	return flow_count_store_edges(&f->pieces, edge, ctx);
}
