/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/code_outcomes.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/u64.h"

static int by_address(const void *x, const void *y)
{
	const struct code_level *a = x, *b = y;

	return u64_compare(a->at, b->at);
}

static bool add_passed(struct code_outcomes *o)
{
	size_t nr = 0;

	vec_for_each (&o->counts->runs, r) {
		if (r->flags & CODE_SAMPLED &&
		    !vec_push(&o->passed, (struct code_level){r->b, r->nr_part}))
			return false;
	}
	if (o->passed.nr)
		qsort(o->passed.data, o->passed.nr, sizeof(*o->passed.data), by_address);
	vec_for_each (&o->passed, p) {
		struct code_level *last = nr ? &o->passed.data[nr - 1] : NULL;

		if (last && last->at == p->at)
			last->nr = u64_sum(last->nr, p->nr);
		else
			o->passed.data[nr++] = *p;
	}
	o->passed.nr = nr;
	return true;
}

bool code_outcomes_make(struct code_outcomes *o, const struct code_counts *c)
{
	o->counts = c;
	return code_levels_make(&o->levels, &c->runs) && add_passed(o);
}

void code_outcomes_done(struct code_outcomes *o)
{
	code_levels_done(&o->levels);
	vec_done(&o->passed);
}

static uint64_t taken_at(const struct code_table *t, uint64_t address)
{
	uint64_t nr = 0;

	for (size_t i = search_first(t->nr, k, t->data[k].a >= address);
	     i < t->nr && t->data[i].a == address; i++)
		nr = u64_sum(nr, t->data[i].nr);
	return nr;
}

static uint64_t passed_at(const struct code_outcomes *o, uint64_t address)
{
	size_t i = search_first(o->passed.nr, k, o->passed.data[k].at >= address);

	return i < o->passed.nr && o->passed.data[i].at == address ? o->passed.data[i].nr : 0;
}

uint64_t code_outcomes_at(const struct code_outcomes *o, uint64_t address, uint64_t *ret_taken)
{
	uint64_t nr;

	*ret_taken = taken_at(&o->counts->branches, address);
	if (o->passed.nr)
		return u64_sum(*ret_taken, passed_at(o, address));
	nr = code_levels_at(&o->levels, address);
	/* Of branch stacks the oldest branch has no run that leads to it. */
	return nr < *ret_taken ? *ret_taken : nr;
}
