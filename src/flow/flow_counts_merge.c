/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_counts_merge.h"

static const uint64_t max_sum = UINT32_MAX; /* of counts */

/** From the one cache into the other. */
struct merge {
	struct flow *to, *from;
	uint32_t *nr_of; /* block of from -> of to; FLOW_NO_BLOCK: not looked up */
};

static uint32_t block_of(struct merge *m, uint32_t at)
{
	const struct flow_block *b = &m->from->blocks.all.data[at];

	if (m->nr_of[at] == FLOW_NO_BLOCK)
		m->nr_of[at] =
			flow_blocks_get(&m->to->blocks, b->space, (enum isa)b->isa, b->start);
	return m->nr_of[at];
}

static bool add_target(struct merge *m, uint32_t from, uint32_t to, uint64_t nr)
{
	uint32_t a, b;

	if (!nr)
		return true;
	a = block_of(m, from);
	b = block_of(m, to);
	if (a == FLOW_NO_BLOCK || b == FLOW_NO_BLOCK)
		return false;
	flow_count_target(m->to, a, b, (int64_t)nr);
	return !m->to->err;
}

static bool add_targets(struct merge *m, uint32_t at)
{
	const struct flow_blocks *all = &m->from->blocks;
	const struct flow_targets *t = &all->targets.data[all->links.data[at].other];

	for (size_t i = 0; i < FLOW_NR_TARGETS && t->to[i] != FLOW_NO_BLOCK; i++) {
		if (!add_target(m, at, t->to[i], t->nr[i]))
			return false;
	}
	return true;
}

static bool add_block(struct merge *m, uint32_t at)
{
	const uint32_t *n = m->from->blocks.counts.data[at].nr;
	uint32_t to;

	if (flow_is_indirect(&m->from->blocks.all.data[at]) && !add_targets(m, at))
		return false;
	if (!n[0] && !n[1])
		return true;
	to = block_of(m, at);
	if (to == FLOW_NO_BLOCK)
		return false;
	m->to->blocks.counts.data[to].nr[0] += n[0];
	m->to->blocks.counts.data[to].nr[1] += n[1];
	return true;
}

static bool add_all(struct merge *m)
{
	const struct map_u64 *more = &m->from->more_targets;

	for (uint32_t at = 0; at < m->from->blocks.all.nr; at++) {
		if (!add_block(m, at))
			return false;
	}
	for (size_t i = 0; i < more->cap; i++) {
		const struct map_u64_slot *s = &more->slots[i];

		if (more->used[i] &&
		    !add_target(m, (uint32_t)(s->key >> 32), (uint32_t)s->key, s->value))
			return false;
	}
	return true;
}

static bool merge_stored(struct flow *to, struct flow *from)
{
	bool is_ok = flow_count_store_merge(&to->stored, &from->stored) &&
		     flow_count_store_merge(&to->pieces, &from->pieces);

	flow_count_store_done(&from->stored);
	flow_count_store_done(&from->pieces);
	return is_ok;
}

bool flow_counts_merge(struct flow *to, struct flow *from)
{
	struct merge m = {to, from, NULL};
	size_t bytes = from->blocks.all.nr * sizeof(*m.nr_of);
	bool is_ok;

	flow_counts_totals(from);
	if (to->nr_counted + from->nr_counted > max_sum)
		flow_counts_store(to);
	m.nr_of = mem_alloc(bytes + 1);
	if (!m.nr_of)
		return false;
	memset(m.nr_of, 0xff, bytes);
	is_ok = !to->err && add_all(&m) && merge_stored(to, from);
	mem_free(m.nr_of);
	to->nr_counted += from->nr_counted;
	flow_counts_forget(from);
	return is_ok;
}
