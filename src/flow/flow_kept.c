/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_kept.h"

#include "base/hash.h"

enum { MIN_SLOTS = 1024, NONE = UINT32_MAX };

void flow_kept_done(struct flow_kept *k)
{
	vec_done(&k->blocks);
	vec_done(&k->edges);
	mem_free(k->block_slots);
	mem_free(k->edge_slots);
	*k = (struct flow_kept){0};
}

static uint64_t hash_of_block(const struct flow_block *b)
{
	return hash_two(b->start, (uint64_t)b->space << 2 | b->isa) + b->bytes;
}

static uint64_t hash_of_edge(uint32_t from, uint64_t to)
{
	return hash_two(to, from);
}

/** The first free slot for @p hash. */
static uint32_t *free_slot(uint32_t *slots, size_t nr_slots, uint64_t hash)
{
	size_t at = hash & (nr_slots - 1);

	while (slots[at] != NONE)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static uint32_t *more_slots(size_t old, size_t *ret_nr)
{
	size_t nr = old ? old * 2 : MIN_SLOTS;
	uint32_t *ret = mem_calloc(nr, sizeof(*ret));

	if (ret)
		memset(ret, 0xff, nr * sizeof(*ret));
	*ret_nr = nr;
	return ret;
}

static bool grow_blocks(struct flow_kept *k)
{
	uint32_t *slots;
	size_t nr;

	if (k->blocks.nr * 2 < k->nr_block_slots)
		return true;
	slots = more_slots(k->nr_block_slots, &nr);
	if (!slots)
		return false;
	for (size_t i = 0; i < k->blocks.nr; i++)
		*free_slot(slots, nr, hash_of_block(&k->blocks.data[i].block)) = (uint32_t)i;
	mem_free(k->block_slots);
	k->block_slots = slots;
	k->nr_block_slots = nr;
	return true;
}

static bool grow_edges(struct flow_kept *k)
{
	uint32_t *slots;
	size_t nr;

	if (k->edges.nr * 2 < k->nr_edge_slots)
		return true;
	slots = more_slots(k->nr_edge_slots, &nr);
	if (!slots)
		return false;
	for (size_t i = 0; i < k->edges.nr; i++)
		*free_slot(slots, nr, hash_of_edge(k->edges.data[i].from, k->edges.data[i].to)) =
			(uint32_t)i;
	mem_free(k->edge_slots);
	k->edge_slots = slots;
	k->nr_edge_slots = nr;
	return true;
}

uint32_t flow_kept_add_block(struct flow_kept *k, const struct flow_block *b, const uint64_t nr[2])
{
	size_t at;

	if (!grow_blocks(k))
		return NONE;
	for (at = hash_of_block(b) & (k->nr_block_slots - 1); k->block_slots[at] != NONE;
	     at = (at + 1) & (k->nr_block_slots - 1)) {
		struct flow_kept_block *o = &k->blocks.data[k->block_slots[at]];

		if (o->block.start != b->start || o->block.space != b->space ||
		    o->block.isa != b->isa || o->block.bytes != b->bytes)
			continue;
		o->nr[0] += nr[0];
		o->nr[1] += nr[1];
		return k->block_slots[at];
	}
	if (!vec_push(&k->blocks, (struct flow_kept_block){
					  *b, {nr[0], nr[1]}
        }))
		return NONE;
	k->block_slots[at] = (uint32_t)k->blocks.nr - 1;
	return k->block_slots[at];
}

bool flow_kept_add_edge(struct flow_kept *k, uint32_t from, uint64_t to, uint64_t nr)
{
	size_t at;

	if (!grow_edges(k))
		return false;
	for (at = hash_of_edge(from, to) & (k->nr_edge_slots - 1); k->edge_slots[at] != NONE;
	     at = (at + 1) & (k->nr_edge_slots - 1)) {
		struct flow_kept_edge *o = &k->edges.data[k->edge_slots[at]];

		if (o->from != from || o->to != to)
			continue;
		o->nr += nr;
		return true;
	}
	if (!vec_push(&k->edges, (struct flow_kept_edge){from, to, nr}))
		return false;
	k->edge_slots[at] = (uint32_t)k->edges.nr - 1;
	return true;
}

bool flow_kept_merge(struct flow_kept *to, const struct flow_kept *from)
{
	const uint64_t none[2] = {0};

	vec_for_each (&from->blocks, b) {
		if (flow_kept_add_block(to, &b->block, b->nr) == NONE)
			return false;
	}
	vec_for_each (&from->edges, e) {
		uint32_t nr = flow_kept_add_block(to, &from->blocks.data[e->from].block, none);

		if (nr == NONE || !flow_kept_add_edge(to, nr, e->to, e->nr))
			return false;
	}
	return true;
}

bool flow_block_edges(const struct flow_block *b, const uint64_t nr[2], uint64_t nr_known,
		      bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx)
{
	struct flow_edge not_taken = {b, b->start + b->bytes, nr[0], false, true};
	struct flow_edge taken = {b, b->start + b->bytes, nr[1], true, true};

	if (b->kind == INSN_PLAIN)
		not_taken = (struct flow_edge){.from = b, .nr = nr[0]};
	if (b->kind == INSN_BRANCH || b->kind == INSN_COND)
		taken.to = b->target;
	if (b->kind == INSN_INDIRECT) {
		taken.nr = nr[1] > nr_known ? nr[1] - nr_known : 0;
		taken.to = 0;
		taken.has_to = false;
	}
	return (!not_taken.nr || edge(ctx, &not_taken)) && (!taken.nr || edge(ctx, &taken));
}

bool flow_kept_edges(const struct flow_kept *k, bool (*edge)(void *ctx, const struct flow_edge *e),
		     void *ctx)
{
	uint64_t *nr_known = mem_calloc(k->blocks.nr + 1, sizeof(*nr_known));
	bool is_ok = nr_known;

	for (size_t i = 0; is_ok && i < k->edges.nr; i++) {
		const struct flow_kept_edge *t = &k->edges.data[i];
		struct flow_edge e = {&k->blocks.data[t->from].block, t->to, t->nr, true, true};

		nr_known[t->from] += t->nr;
		is_ok = !t->nr || edge(ctx, &e);
	}
	for (size_t i = 0; is_ok && i < k->blocks.nr; i++) {
		const struct flow_kept_block *b = &k->blocks.data[i];

		is_ok = flow_block_edges(&b->block, b->nr, nr_known[i], edge, ctx);
	}
	mem_free(nr_known);
	return is_ok;
}
