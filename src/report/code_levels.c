/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/code_levels.h"

#include <stdlib.h>

#include "base/search.h"

static int by_address(const void *x, const void *y)
{
	const struct code_level *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

/** From what begins and ends at each address to what runs there. */
static void add_up(struct code_levels *l)
{
	uint64_t now = 0;
	size_t nr = 0;

	for (size_t i = 0; i < l->nr; i++) {
		now += l->data[i].nr;
		if (nr && l->data[nr - 1].at == l->data[i].at)
			nr--;
		l->data[nr++] = (struct code_level){l->data[i].at, now};
	}
	l->nr = nr;
}

bool code_levels_make(struct code_levels *l, const struct code_table *runs)
{
	vec_for_each (runs, r) {
		if (r->a > r->b)
			continue;
		if (!vec_push(l, (struct code_level){r->a, r->nr}))
			return false;
		if (r->b != UINT64_MAX && !vec_push(l, (struct code_level){r->b + 1, -r->nr}))
			return false;
	}
	if (l->nr)
		qsort(l->data, l->nr, sizeof(*l->data), by_address);
	add_up(l);
	return true;
}

void code_levels_done(struct code_levels *l)
{
	vec_done(l);
}

size_t code_levels_after(const struct code_levels *l, uint64_t address)
{
	return search_first(l->nr, i, l->data[i].at > address);
}

uint64_t code_levels_at(const struct code_levels *l, uint64_t address)
{
	size_t after = code_levels_after(l, address);

	return after ? l->data[after - 1].nr : 0;
}

uint64_t code_levels_most(const struct code_levels *l, uint64_t start, uint64_t end)
{
	uint64_t most = code_levels_at(l, start);

	for (size_t i = code_levels_after(l, start); i < l->nr && l->data[i].at < end; i++)
		most = l->data[i].nr > most ? l->data[i].nr : most;
	return most;
}
