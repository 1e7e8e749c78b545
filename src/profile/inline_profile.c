/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/inline_profile.h"

#include <string.h>

#include "base/u64.h"
#include "image/dso_source.h"
#include "profile/inline_order.h"
#include "profile/key_number.h"
#include "report/code_levels.h"

enum {
	MAX_ENTRIES = 4 << 20, /* of each kind */
	OFFSET_MASK = 0xffff,
};

struct maker {
	struct inline_profile *p;
	const struct counted_binary *binary;
	struct code_levels levels;
	struct map_u64 entries; /* address -> name, of functions */
	struct key_numbers keys;
};

/* --- entries, each once --- */

static bool name_of(struct maker *m, const char *name, uint32_t *ret)
{
	*ret = intern_str(&m->p->names, name);
	m->keys.is_failed |= *ret == INTERN_FAILED;
	return *ret != INTERN_FAILED;
}

static bool node_of(struct maker *m, uint32_t parent, const struct inline_place *at,
		    const char *name, uint32_t *ret)
{
	struct inline_profile *p = m->p;
	uint32_t key[] = {parent, at->offset, at->discriminator, 0};
	bool is_new;

	if (!name_of(m, name, &key[3]) ||
	    !key_number(&m->keys, &p->node_keys, key, sizeof(key), ret, &is_new))
		return false;
	if (is_new &&
	    !vec_push(&p->nodes, (struct inline_node){.parent = parent,
						      .offset = at->offset,
						      .discriminator = at->discriminator,
						      .name = intern_get(&p->names, key[3])}))
		m->keys.is_failed = true;
	return !m->keys.is_failed;
}

/** NULL: no room. */
static struct inline_place *place_of(struct maker *m, const struct inline_place *at)
{
	struct inline_profile *p = m->p;
	const uint32_t key[] = {at->node, at->offset, at->discriminator};
	bool is_new;
	uint32_t n;

	if (!key_number(&m->keys, &p->place_keys, key, sizeof(key), &n, &is_new))
		return NULL;
	if (is_new && !vec_push(&p->places, *at))
		m->keys.is_failed = true;
	return m->keys.is_failed ? NULL : &p->places.data[n];
}

static void add_target(struct maker *m, const struct inline_place *from, uint32_t name, uint64_t nr)
{
	struct inline_profile *p = m->p;
	const uint32_t key[] = {from->node, from->offset, from->discriminator, name};
	struct inline_target t = {.from = *from, .name = intern_get(&p->names, name)};
	bool is_new;
	uint32_t n;

	if (!key_number(&m->keys, &p->target_keys, key, sizeof(key), &n, &is_new))
		return;
	t.from.nr = 0;
	if (is_new && !vec_push(&p->targets, t))
		m->keys.is_failed = true;
	if (!m->keys.is_failed)
		p->targets.data[n].from.nr = u64_sum(p->targets.data[n].from.nr, nr);
}

/* --- from an address to its place --- */

static struct inline_place place_in(const struct dso_line *l)
{
	return (struct inline_place){.offset = (l->line - l->decl_line) & OFFSET_MASK,
				     .discriminator = l->discriminator};
}

/**
 * The place of the code at @p address, down from the function through what was inlined.
 * *ret_copies: of the code. @return false: it has no source, or there is no room.
 */
static bool locate(struct maker *m, uint64_t address, struct inline_place *ret,
		   uint32_t *ret_copies)
{
	struct inline_place at = {0};
	struct dso_line l[DSO_MAX_LEVELS];
	size_t nr = dso_find_linked_lines(m->binary->dso, address, l, DSO_MAX_LEVELS);
	uint32_t node = INLINE_TOP;

	if (!nr || !l[0].line)
		return false;
	for (size_t i = nr; i-- > 0;) {
		if (!l[i].link_name || !node_of(m, node, &at, l[i].link_name, &node))
			return false;
		at = place_in(&l[i]);
	}
	at.node = node;
	*ret = at;
	*ret_copies = l[0].copies;
	return true;
}

static void count_known(struct maker *m, bool is_known, uint64_t nr)
{
	uint64_t *sum = is_known ? &m->p->nr_known : &m->p->nr_unknown;

	*sum = u64_sum(*sum, nr);
}

/* --- of runs --- */

static void add_executed(struct maker *m, uint64_t address, uint64_t nr)
{
	struct inline_place at, *known;
	uint32_t copies;

	if (!nr || !locate(m, address, &at, &copies))
		return;
	known = place_of(m, &at);
	if (__builtin_mul_overflow(nr, copies, &nr))
		nr = UINT64_MAX;
	if (known && nr > known->nr)
		known->nr = nr;
}

static bool take_row(void *ctx, const struct dwarf_row *row)
{
	struct maker *m = ctx;
	size_t i = code_levels_after(&m->levels, row->start);

	add_executed(m, row->start, code_levels_at(&m->levels, row->start));
	for (; i < m->levels.nr && m->levels.data[i].at < row->end; i++) {
		uint64_t before = i ? m->levels.data[i - 1].nr : 0;

		/* Where less runs than before, it may be inside of an instruction. */
		if (m->levels.data[i].nr > before)
			add_executed(m, m->levels.data[i].at, m->levels.data[i].nr);
	}
	return !m->keys.is_failed;
}

static bool take_entry(void *ctx, const struct dwarf_entry *e)
{
	struct maker *m = ctx;
	uint32_t name;

	if (e->function.is_inlined || !e->function.name)
		return true;
	return name_of(m, e->function.name, &name) && map_u64_put(&m->entries, e->address, name);
}

/** Branches to a function's first instruction enter it. */
static void add_entries(struct maker *m)
{
	struct inline_profile *p = m->p;
	const struct inline_place outside = {0};
	struct inline_place from;
	uint32_t node, copies;

	vec_for_each (&m->binary->counts.branches, b) {
		const uint64_t *name = map_u64_get(&m->entries, b->b);

		if (!name || !node_of(m, INLINE_TOP, &outside,
				      intern_get(&p->names, (uint32_t)*name), &node))
			continue;
		p->nodes.data[node].head = u64_sum(p->nodes.data[node].head, b->nr);
		if (b->a != CODE_ELSEWHERE && locate(m, b->a, &from, &copies) && place_of(m, &from))
			add_target(m, &from, (uint32_t)*name, b->nr);
	}
}

static void count_runs(struct maker *m)
{
	struct dso_line l;

	vec_for_each (&m->binary->counts.runs, r)
		count_known(m, dso_find_linked_lines(m->binary->dso, r->a, &l, 1) > 0, 1);
}

static void add_runs(struct maker *m)
{
	const struct dwarf_walker w = {take_row, take_entry, m};

	if (!code_levels_make(&m->levels, &m->binary->counts.runs) ||
	    !dso_walk_source(m->binary->dso, &w)) {
		m->keys.is_failed = true;
		return;
	}
	add_entries(m);
	count_runs(m);
}

/* --- of samples --- */

static void add_samples(struct maker *m)
{
	struct inline_place at, *known;
	uint32_t copies;

	vec_for_each (&m->binary->counts.samples, s) {
		known = locate(m, s->a, &at, &copies) ? place_of(m, &at) : NULL;
		count_known(m, known, s->nr);
		if (known)
			known->nr = u64_sum(known->nr, s->nr);
	}
	vec_for_each (&m->p->places, q) {
		struct inline_node *n = &m->p->nodes.data[q->node];

		if (n->parent == INLINE_TOP && !q->offset && !q->discriminator)
			n->head = q->nr;
	}
}

/* --- all of it --- */

static void add_total(struct inline_profile *p, uint32_t node, uint64_t nr)
{
	struct inline_node *n = &p->nodes.data[node];

	n->total = u64_sum(n->total, nr);
}

/** Callers have smaller numbers than what was inlined into them. */
static void add_up(struct inline_profile *p)
{
	vec_for_each (&p->places, at)
		add_total(p, at->node, at->nr);
	for (size_t i = p->nodes.nr; i-- > 0;) {
		const struct inline_node *n = &p->nodes.data[i];

		if (n->parent != INLINE_TOP)
			add_total(p, n->parent, n->total);
	}
}

enum clew_err inline_profile_make(struct inline_profile *p, const struct counted_binary *b,
				  struct budget *budget)
{
	struct maker m = {
		.p = p,
		.binary = b,
		.keys = {&p->account, "lines and functions of", MAX_ENTRIES, &p->nr_no_room,
			 false}
        };

	p->account.budget = budget;
	if (b->dso && !b->is_not_found) {
		if (b->counts.runs.nr)
			add_runs(&m);
		else
			add_samples(&m);
	}
	code_levels_done(&m.levels);
	map_u64_done(&m.entries);
	add_up(p);
	return !m.keys.is_failed && inline_order(p) ? CLEW_OK : CLEW_NO_MEMORY;
}

void inline_profile_done(struct inline_profile *p)
{
	vec_done(&p->nodes);
	vec_done(&p->places);
	vec_done(&p->targets);
	vec_done(&p->order);
	intern_done(&p->names);
	intern_done(&p->node_keys);
	intern_done(&p->place_keys);
	intern_done(&p->target_keys);
	budget_account_done(&p->account);
}
