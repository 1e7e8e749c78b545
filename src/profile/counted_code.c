/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/counted_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/u64.h"

void counted_code_done(struct counted_code *c)
{
	vec_for_each (&c->binaries, b)
		code_counts_done(&b->counts);
	vec_done(&c->binaries);
	map_u64_done(&c->by_dso);
}

static struct counted_binary *binary_of(struct counted_code *c, const struct dso *d)
{
	uint64_t key = d ? (uint64_t)dso_id(d) + 1 : 0, *at = map_u64_get(&c->by_dso, key);

	if (at)
		return &c->binaries.data[*at];
	if (!vec_push(&c->binaries, (struct counted_binary){.dso = d}))
		return NULL;
	if (!map_u64_put(&c->by_dso, key, c->binaries.nr - 1)) {
		c->binaries.nr--;
		return NULL;
	}
	return &c->binaries.data[c->binaries.nr - 1];
}

bool counted_code_add_run(struct counted_code *c, const struct ana_loc *at,
			  const struct code_count *e)
{
	struct counted_binary *b = binary_of(c, at->dso);
	struct code_count run = *e;

	run.a = at->rel;
	run.b = at->rel + (e->b - e->a);
	return b && code_counts_add_run(&b->counts, &run);
}

static bool add_branch(struct counted_code *c, const struct dso *d, const struct code_count *e)
{
	struct counted_binary *b = binary_of(c, d);

	return b && code_counts_add_branch(&b->counts, e);
}

bool counted_code_add_branch(struct counted_code *c, const struct ana_loc *from,
			     const struct ana_loc *to, const struct code_count *e)
{
	struct code_count branch = *e;
	bool is_inside = from && to && from->dso == to->dso;

	branch.a = from ? from->rel : CODE_ELSEWHERE;
	branch.b = is_inside ? to->rel : CODE_ELSEWHERE;
	if (from && !add_branch(c, from->dso, &branch))
		return false;
	if (is_inside || !to)
		return true;
	branch.a = CODE_ELSEWHERE;
	branch.b = to->rel;
	return add_branch(c, to->dso, &branch);
}

bool counted_code_add_sample(struct counted_code *c, const struct ana_loc *at, uint64_t nr)
{
	struct counted_binary *b = binary_of(c, at->dso);

	return b && code_counts_add_sample(&b->counts, at->rel, nr);
}

/** @return false: not in the linked file. */
static bool link_one(const struct counted_binary *b, uint64_t *address)
{
	return *address == CODE_ELSEWHERE || dso_link_address(b->dso, *address, address);
}

static void link_runs(struct counted_binary *b)
{
	struct code_table *t = &b->counts.runs;
	size_t nr = 0;

	vec_for_each (t, e) {
		uint64_t bytes = e->b - e->a;

		if (!link_one(b, &e->a)) {
			b->nr_lost++;
			continue;
		}
		e->b = e->a + bytes;
		t->data[nr++] = *e;
	}
	t->nr = nr;
}

static void link_branches(struct counted_binary *b)
{
	struct code_table *t = &b->counts.branches;
	size_t nr = 0;

	vec_for_each (t, e) {
		if (!link_one(b, &e->a) || !link_one(b, &e->b)) {
			b->nr_lost++;
			continue;
		}
		t->data[nr++] = *e;
	}
	t->nr = nr;
}

static void link_samples(struct counted_binary *b)
{
	struct code_table *t = &b->counts.samples;
	size_t nr = 0;

	vec_for_each (t, e) {
		if (link_one(b, &e->a))
			t->data[nr++] = *e;
		else
			b->nr_lost++;
	}
	t->nr = nr;
}

static uint64_t count_left(const struct counted_binary *b)
{
	uint64_t nr = 0;

	vec_for_each (&b->counts.branches, e)
		nr = e->a == CODE_ELSEWHERE ? nr : u64_sum(nr, e->nr);
	return nr;
}

static void finish_binary(struct counted_binary *b)
{
	b->path = b->dso ? dso_path(b->dso) : "[unknown]";
	if (b->dso) {
		b->build_id = dso_file_id(b->dso);
		b->is_not_found = dso_kind(b->dso) != DSO_JIT && !dso_has_linked(b->dso);
	}
	if (b->dso && dso_has_linked(b->dso)) {
		b->base = dso_link_base(b->dso);
		link_runs(b);
		link_branches(b);
		link_samples(b);
	}
	code_counts_sort(&b->counts);
	b->weight = code_counts_weight(&b->counts);
	b->nr_samples = code_counts_samples(&b->counts);
	b->nr_left = count_left(b);
}

static int heaviest_first(const void *x, const void *y)
{
	const struct counted_binary *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->nr_samples != b->nr_samples)
		return a->nr_samples > b->nr_samples ? -1 : 1;
	if (a->nr_left != b->nr_left)
		return a->nr_left > b->nr_left ? -1 : 1;
	return strcmp(a->path, b->path);
}

void counted_code_finish(struct counted_code *c)
{
	vec_for_each (&c->binaries, b)
		finish_binary(b);
	if (c->binaries.nr)
		qsort(c->binaries.data, c->binaries.nr, sizeof(*c->binaries.data), heaviest_first);
	map_u64_done(&c->by_dso);
}

bool counted_binary_offset(const struct counted_binary *b, uint64_t address, uint64_t *ret)
{
	*ret = address;
	if (address == CODE_ELSEWHERE)
		return false;
	return !b->dso || dso_kind(b->dso) == DSO_MODULE || !dso_has_linked(b->dso) ||
	       dso_file_offset(b->dso, address, ret);
}
