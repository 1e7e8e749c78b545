/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_count_store.h"

#include "base/hash.h"
#include "flow/flow_blocks.h"

enum { MIN_SLOTS = 1024 };

void flow_count_store_done(struct flow_count_store *s)
{
	vec_done(&s->blocks);
	vec_done(&s->edges);
	mem_free(s->block_slots.slots);
	mem_free(s->edge_slots.slots);
	*s = (struct flow_count_store){0};
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

	while (slots[at] != FLOW_NOT_STORED)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static uint64_t hash_of_nth_block(const struct flow_count_store *s, size_t i)
{
	return hash_of_block(&s->blocks.data[i].block);
}

static uint64_t hash_of_nth_edge(const struct flow_count_store *s, size_t i)
{
	return hash_of_edge(s->edges.data[i].from, s->edges.data[i].to);
}

/** Room for one more than the @p nr that are in @p t. */
static bool grow(const struct flow_count_store *s, struct flow_count_slots *t, size_t nr,
		 uint64_t (*hash)(const struct flow_count_store *s, size_t i))
{
	size_t nr_slots = t->nr ? t->nr * 2 : MIN_SLOTS;
	uint32_t *slots;

	if (nr * 2 < t->nr)
		return true;
	slots = mem_calloc(nr_slots, sizeof(*slots));
	if (!slots)
		return false;
	memset(slots, 0xff, nr_slots * sizeof(*slots));
	for (size_t i = 0; i < nr; i++)
		*free_slot(slots, nr_slots, hash(s, i)) = (uint32_t)i;
	mem_free(t->slots);
	*t = (struct flow_count_slots){slots, nr_slots};
	return true;
}

uint32_t flow_count_store_add_block(struct flow_count_store *s, const struct flow_block *b,
				    const uint64_t nr[2])
{
	size_t at;

	if (!grow(s, &s->block_slots, s->blocks.nr, hash_of_nth_block))
		return FLOW_NOT_STORED;
	for (at = hash_of_block(b) & (s->block_slots.nr - 1);
	     s->block_slots.slots[at] != FLOW_NOT_STORED; at = (at + 1) & (s->block_slots.nr - 1)) {
		struct flow_stored_block *o = &s->blocks.data[s->block_slots.slots[at]];

		if (o->block.start != b->start || o->block.space != b->space ||
		    o->block.isa != b->isa || o->block.bytes != b->bytes)
			continue;
		o->nr[0] += nr[0];
		o->nr[1] += nr[1];
		return s->block_slots.slots[at];
	}
	if (!vec_push(&s->blocks, (struct flow_stored_block){
					  *b, {nr[0], nr[1]}
        }))
		return FLOW_NOT_STORED;
	s->block_slots.slots[at] = (uint32_t)s->blocks.nr - 1;
	return s->block_slots.slots[at];
}

bool flow_count_store_add_edge(struct flow_count_store *s, uint32_t from, uint64_t to, uint64_t nr)
{
	size_t at;

	if (!grow(s, &s->edge_slots, s->edges.nr, hash_of_nth_edge))
		return false;
	for (at = hash_of_edge(from, to) & (s->edge_slots.nr - 1);
	     s->edge_slots.slots[at] != FLOW_NOT_STORED; at = (at + 1) & (s->edge_slots.nr - 1)) {
		struct flow_stored_edge *o = &s->edges.data[s->edge_slots.slots[at]];

		if (o->from != from || o->to != to)
			continue;
		o->nr += nr;
		return true;
	}
	if (!vec_push(&s->edges, (struct flow_stored_edge){from, to, nr}))
		return false;
	s->edge_slots.slots[at] = (uint32_t)s->edges.nr - 1;
	return true;
}

bool flow_count_store_merge(struct flow_count_store *to, const struct flow_count_store *from)
{
	const uint64_t none[2] = {0};

	vec_for_each (&from->blocks, b) {
		if (flow_count_store_add_block(to, &b->block, b->nr) == FLOW_NOT_STORED)
			return false;
	}
	vec_for_each (&from->edges, e) {
		uint32_t nr =
			flow_count_store_add_block(to, &from->blocks.data[e->from].block, none);

		if (nr == FLOW_NOT_STORED || !flow_count_store_add_edge(to, nr, e->to, e->nr))
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
	if (flow_is_indirect(b)) {
		taken.nr = nr[1] > nr_known ? nr[1] - nr_known : 0;
		taken.to = 0;
		taken.has_to = false;
	}
	return (!not_taken.nr || edge(ctx, &not_taken)) && (!taken.nr || edge(ctx, &taken));
}

bool flow_count_store_edges(const struct flow_count_store *s,
			    bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx)
{
	uint64_t *nr_known = mem_calloc(s->blocks.nr + 1, sizeof(*nr_known));
	bool is_ok = nr_known;

	for (size_t i = 0; is_ok && i < s->edges.nr; i++) {
		const struct flow_stored_edge *t = &s->edges.data[i];
		struct flow_edge e = {&s->blocks.data[t->from].block, t->to, t->nr, true, true};

		nr_known[t->from] += t->nr;
		is_ok = !t->nr || edge(ctx, &e);
	}
	for (size_t i = 0; is_ok && i < s->blocks.nr; i++) {
		const struct flow_stored_block *b = &s->blocks.data[i];

		is_ok = flow_block_edges(&b->block, b->nr, nr_known[i], edge, ctx);
	}
	mem_free(nr_known);
	return is_ok;
}
