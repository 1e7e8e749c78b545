/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

enum { NR_VIEWS = 16 };

struct dump {
	uint64_t start, end;
	const uint8_t *bytes;
	uint16_t seen_by;
};

struct view {
	VEC(struct code_region); /* by address, without overlap */
};

struct code_map {
	struct {
		VEC(struct dump);
	} dumps;
	struct view views[NR_VIEWS];
	struct code_source source;
};

struct code_map *code_map_new(void)
{
	return mem_zalloc(sizeof(struct code_map));
}

void code_map_free(struct code_map *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; i < NR_VIEWS; i++)
		vec_done(&m->views[i]);
	vec_done(&m->dumps);
	mem_free(m);
}

bool code_map_add(struct code_map *m, uint64_t address, const uint8_t *bytes, size_t size,
		  uint16_t seen_by)
{
	struct dump d = {address, address + size, bytes, seen_by};

	if (!size)
		return true;
	if (d.end < d.start) /* up to the end of the address space */
		d.end = UINT64_MAX;
	return vec_push(&m->dumps, d);
}

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	const struct code_arm_context *c = &key->context.arm;

	(void)ctx;
	return key->context.arch == CODE_ARM ? (uint32_t)(c->security & 3) * 4 + (c->el & 3) : 0;
}

/** Number of regions that end at or before @p addr: they are sorted, and apart. */
static size_t nr_before(const struct view *v, uint64_t addr)
{
	return search_first(v->nr, i, v->data[i].end > addr);
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct view *v = &((const struct code_map *)ctx)->views[space % NR_VIEWS];
	size_t at = nr_before(v, addr);

	if (at == v->nr || addr < v->data[at].start)
		return false;
	*ret = v->data[at];
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct code_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool put(struct view *v, const struct dump *d, uint64_t start, uint64_t end)
{
	struct code_region r = {start, end, d->bytes + (start - d->start)};

	return start >= end || vec_push(v, r);
}

/** Bring what was added after the first @p nr to its place, which is before @p at or there. */
static void sort_in(struct view *v, size_t nr, size_t at)
{
	struct code_region added = v->data[v->nr - 1];

	if (v->nr == nr + 1) {
		memmove(&v->data[at + 1], &v->data[at], (nr - at) * sizeof(added));
		v->data[at] = added;
	} else {
		qsort(v->data, v->nr, sizeof(*v->data), by_start);
	}
}

/** What of @p d no dump before it covers. @p v is sorted. */
static bool add_rest(struct view *v, const struct dump *d)
{
	size_t nr = v->nr, place = nr;
	uint64_t at = d->start;

	for (size_t i = nr_before(v, at); i < nr; i++) {
		const struct code_region r = v->data[i];

		if (r.start >= d->end)
			break;
		if (!put(v, d, at, r.start))
			return false;
		at = r.end;
	}
	if (!put(v, d, at, d->end))
		return false;
	if (v->nr == nr)
		return true;
	while (place && v->data[place - 1].start > v->data[v->nr - 1].start)
		place--;
	sort_in(v, nr, place);
	return true;
}

const struct code_source *code_map_source(struct code_map *m)
{
	for (unsigned int i = 0; i < NR_VIEWS; i++) {
		m->views[i].nr = 0;
		vec_for_each (&m->dumps, d) {
			if (d->seen_by >> i & 1 && !add_rest(&m->views[i], d))
				return NULL;
		}
	}
	m->source = (struct code_source){space_of, find, m};
	return &m->source;
}
