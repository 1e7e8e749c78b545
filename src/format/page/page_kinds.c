/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

bool page_kinds_init(struct page_kinds *k, const uint32_t *node_of, uint32_t max)
{
	*k = (struct page_kinds){.node_of = node_of, .max = max, .nr_slots = 2};
	while (k->nr_slots < 2 * max)
		k->nr_slots *= 2;
	k->rows = mem_calloc(max + 1u, sizeof(*k->rows));
	k->slots = mem_calloc(k->nr_slots, sizeof(*k->slots));
	return k->rows && k->slots;
}

void page_kinds_done(struct page_kinds *k)
{
	mem_free(k->rows);
	mem_free(k->slots);
	*k = (struct page_kinds){0};
}

void page_kinds_clear(struct page_kinds *k)
{
	memset(k->slots, 0, k->nr_slots * sizeof(*k->slots));
	k->nr = 0;
}

static bool is_same(const struct page_kinds *k, const struct page_row *a, const struct page_row *b)
{
	return a->thread == b->thread && k->node_of[a->node] == k->node_of[b->node] &&
	       a->event == b->event && a->cgroup == b->cgroup && a->cpu == b->cpu;
}

static uint32_t *slot_of(const struct page_kinds *k, const struct page_row *r)
{
	uint64_t h = hash_u64((uint64_t)k->node_of[r->node] << 32 | r->thread);

	h = hash_u64(h ^ r->cpu ^ (uint64_t)r->cgroup << 32 ^ (uint64_t)r->event << 48);
	for (uint32_t i = (uint32_t)h % k->nr_slots;; i = (i + 1) % k->nr_slots) {
		if (!k->slots[i] || is_same(k, &k->rows[k->slots[i] - 1], r))
			return &k->slots[i];
	}
}

struct page_row *page_kinds_find(const struct page_kinds *k, const struct page_row *r)
{
	uint32_t slot = *slot_of(k, r);

	return slot ? &k->rows[slot - 1] : NULL;
}

struct page_row *page_kinds_add(struct page_kinds *k, const struct page_row *r)
{
	uint32_t *slot = slot_of(k, r);

	if (*slot)
		return &k->rows[*slot - 1];
	k->rows[k->nr++] = *r;
	*slot = k->nr;
	return NULL;
}

int page_row_order(const void *x, const void *y)
{
	const struct page_row *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->cgroup != b->cgroup)
		return a->cgroup < b->cgroup ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

static int by_nr(const void *x, const void *y)
{
	const struct page_row *a = x, *b = y;

	if (a->nr != b->nr)
		return a->nr > b->nr ? -1 : 1;
	return page_row_order(x, y);
}

void page_kinds_halve(struct page_kinds *k)
{
	uint32_t half = k->nr / 2;

	qsort(k->rows, k->nr, sizeof(*k->rows), by_nr);
	page_kinds_clear(k);
	while (k->nr < half) {
		struct page_row r = k->rows[k->nr]; /* where it goes back to */

		page_kinds_add(k, &r);
	}
}
