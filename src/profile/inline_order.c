/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/inline_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/u64.h"

static int by_place(const void *x, const void *y)
{
	const struct inline_place *a = x, *b = y;
	int c = u64_compare(a->node, b->node);

	c = c ? c : u64_compare(a->offset, b->offset);
	return c ? c : u64_compare(a->discriminator, b->discriminator);
}

static int by_target(const void *x, const void *y)
{
	const struct inline_target *a = x, *b = y;
	int c = by_place(&a->from, &b->from);

	c = c ? c : u64_compare(b->from.nr, a->from.nr);
	return c ? c : strcmp(a->name, b->name);
}

static int by_parent(const void *x, const void *y, void *nodes)
{
	const struct inline_node *all = nodes;
	const struct inline_node *a = &all[*(const uint32_t *)x], *b = &all[*(const uint32_t *)y];
	int c = u64_compare(a->parent, b->parent);

	if (!c)
		c = a->parent == INLINE_TOP ? u64_compare(b->total, a->total)
					    : u64_compare(a->offset, b->offset);
	c = c ? c : u64_compare(a->discriminator, b->discriminator);
	return c ? c : strcmp(a->name, b->name);
}

bool inline_order(struct inline_profile *p)
{
	for (uint32_t i = 0; i < p->nodes.nr; i++) {
		if (!vec_push(&p->order, i))
			return false;
	}
	if (p->order.nr)
		qsort_r(p->order.data, p->order.nr, sizeof(*p->order.data), by_parent,
			p->nodes.data);
	if (p->places.nr)
		qsort(p->places.data, p->places.nr, sizeof(*p->places.data), by_place);
	if (p->targets.nr)
		qsort(p->targets.data, p->targets.nr, sizeof(*p->targets.data), by_target);
	return true;
}

size_t inline_profile_children(const struct inline_profile *p, uint32_t parent, size_t *ret_nr)
{
	size_t first =
		search_first(p->order.nr, i, p->nodes.data[p->order.data[i]].parent >= parent);

	*ret_nr = search_first(p->order.nr, i, p->nodes.data[p->order.data[i]].parent > parent) -
		  first;
	return first;
}

size_t inline_profile_places(const struct inline_profile *p, uint32_t node, size_t *ret_nr)
{
	size_t first = search_first(p->places.nr, i, p->places.data[i].node >= node);

	*ret_nr = search_first(p->places.nr, i, p->places.data[i].node > node) - first;
	return first;
}

size_t inline_profile_targets(const struct inline_profile *p, const struct inline_place *at,
			      size_t *ret_nr)
{
	size_t first = search_first(p->targets.nr, i, by_place(&p->targets.data[i].from, at) >= 0);

	*ret_nr =
		search_first(p->targets.nr, i, by_place(&p->targets.data[i].from, at) > 0) - first;
	return first;
}
