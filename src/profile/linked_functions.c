/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/linked_functions.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/search.h"
#include "base/u64.h"
#include "image/dso_source.h"

struct symbols {
	VEC(struct elf_sym_entry);
};

static bool take_symbol(void *symbols, const struct elf_sym_entry *s)
{
	struct symbols *all = symbols;

	return !s->address || vec_push(all, *s);
}

/* Global ones first: their names need no number. */
static int in_order(const void *x, const void *y)
{
	const struct elf_sym_entry *a = x, *b = y;
	int order = u64_compare(a->address, b->address);

	if (!order)
		order = a->is_local - b->is_local;
	return order ? order : strcmp(a->name, b->name);
}

struct numbers {
	struct intern names;
	struct {
		VEC(uint32_t);
	} nr; /* by name */
};

/* 0: no memory. */
static uint32_t next_number(struct numbers *n, const char *name)
{
	uint32_t at = intern_str(&n->names, name);

	if (at == INTERN_FAILED || !vec_reach(&n->nr, at + 1u))
		return 0;
	return ++n->nr.data[at];
}

static bool add_all(struct linked_functions *f, const struct symbols *all, struct numbers *n)
{
	vec_for_each (all, s) {
		uint32_t number = s->is_local ? next_number(n, s->name) : 0;
		const struct linked_function *last = f->nr ? &f->data[f->nr - 1] : NULL;
		struct linked_function next = {s->address, s->address + s->bytes, s->name, number};

		if (s->is_local && !number)
			return false;
		if (!s->is_function || next.end <= next.start ||
		    (last && last->start == next.start))
			continue;
		if (!vec_push(f, next))
			return false;
	}
	return true;
}

bool linked_functions_make(struct linked_functions *f, const struct dso *d)
{
	struct symbols all = {0};
	struct numbers n = {0};
	bool ok = dso_walk_symbols(d, take_symbol, &all);

	if (all.nr)
		qsort(all.data, all.nr, sizeof(*all.data), in_order);
	ok = ok && add_all(f, &all, &n);
	vec_done(&all);
	vec_done(&n.nr);
	intern_done(&n.names);
	return ok;
}

void linked_functions_done(struct linked_functions *f)
{
	vec_done(f);
}

const struct linked_function *linked_functions_at(const struct linked_functions *f,
						  uint64_t address)
{
	size_t after = search_first(f->nr, i, f->data[i].start > address);

	return after && address < f->data[after - 1].end ? &f->data[after - 1] : NULL;
}
