/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/code_counts.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/u64.h"

enum { MIN_SLOTS = 64 };

static void table_done(struct code_table *t)
{
	vec_done(t);
	mem_free(t->slots);
	t->slots = NULL;
	t->nr_slots = 0;
}

void code_counts_done(struct code_counts *c)
{
	table_done(&c->runs);
	table_done(&c->branches);
	table_done(&c->samples);
}

static size_t slot_of(const struct code_table *t, uint64_t a, uint64_t b)
{
	size_t mask = t->nr_slots - 1, i = hash_two(a, b) & mask;

	for (; t->slots[i]; i = (i + 1) & mask) {
		const struct code_count *e = &t->data[t->slots[i] - 1];

		if (e->a == a && e->b == b)
			break;
	}
	return i;
}

static bool grow(struct code_table *t)
{
	struct code_table bigger = *t;

	if (t->nr < t->nr_slots / 4 * 3)
		return true;
	bigger.nr_slots = t->nr_slots ? 2 * t->nr_slots : MIN_SLOTS;
	bigger.slots = mem_calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < t->nr; i++)
		bigger.slots[slot_of(&bigger, t->data[i].a, t->data[i].b)] = (uint32_t)i + 1;
	mem_free(t->slots);
	*t = bigger;
	return true;
}

static bool add(struct code_counts *c, struct code_table *t, const struct code_count *e)
{
	struct code_count *known;
	size_t at;

	if (!grow(t))
		return false;
	at = slot_of(t, e->a, e->b);
	if (!t->slots[at]) {
		if (t->nr >= CODE_MAX_COUNTS) {
			c->nr_dropped++;
			return true;
		}
		if (!vec_push(t, *e))
			return false;
		t->slots[at] = (uint32_t)t->nr;
		return true;
	}
	known = &t->data[t->slots[at] - 1];
	known->nr = u64_sum(known->nr, e->nr);
	known->nr_part = u64_sum(known->nr_part, e->nr_part);
	known->nr_timed = u64_sum(known->nr_timed, e->nr_timed);
	known->cycles = u64_sum(known->cycles, e->cycles);
	known->flags |= e->flags;
	return true;
}

bool code_counts_add_run(struct code_counts *c, const struct code_count *e)
{
	return add(c, &c->runs, e);
}

bool code_counts_add_branch(struct code_counts *c, const struct code_count *e)
{
	return add(c, &c->branches, e);
}

bool code_counts_add_sample(struct code_counts *c, uint64_t address, uint64_t nr)
{
	return add(c, &c->samples, &(struct code_count){.a = address, .nr = nr});
}

static int by_addresses(const void *x, const void *y)
{
	const struct code_count *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

static void sort_table(struct code_table *t)
{
	if (t->nr)
		qsort(t->data, t->nr, sizeof(*t->data), by_addresses);
	mem_free(t->slots);
	t->slots = NULL;
	t->nr_slots = 0;
}

void code_counts_sort(struct code_counts *c)
{
	sort_table(&c->runs);
	sort_table(&c->branches);
	sort_table(&c->samples);
}

static uint64_t sum_of(const struct code_table *t)
{
	uint64_t all = 0;

	vec_for_each (t, e)
		all = u64_sum(all, e->nr);
	return all;
}

uint64_t code_counts_weight(const struct code_counts *c)
{
	return sum_of(&c->runs);
}

uint64_t code_counts_samples(const struct code_counts *c)
{
	return sum_of(&c->samples);
}
