/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_map.h"

#include "base/interval_map.h"
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

static bool cut(void *ctx, void *element, uint64_t start, uint64_t end)
{
	struct code_region *r = element;

	(void)ctx;
	*r = (struct code_region){start, end, r->bytes + (start - r->start)};
	return true;
}

static const struct interval_type regions = {.bytes = sizeof(struct code_region), .cut = cut};

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct view *v = &((const struct code_map *)ctx)->views[space % NR_VIEWS];
	const struct interval_map map = {&regions, v->data, v->nr};
	size_t at = interval_find(&map, addr);

	if (at == v->nr)
		return false;
	*ret = v->data[at];
	return true;
}

static bool put(struct view *v, const struct dump *d)
{
	const struct code_region r = {d->start, d->end, d->bytes};
	struct interval_map map;

	if (!vec_reserve(v, v->nr + 2))
		return false;
	map = (struct interval_map){&regions, v->data, v->nr};
	interval_insert(&map, NULL, &r);
	v->nr = map.nr;
	return true;
}

/* The first dump of an address counts: it is put in last. */
const struct code_source *code_map_source(struct code_map *m)
{
	for (unsigned int i = 0; i < NR_VIEWS; i++) {
		m->views[i].nr = 0;
		for (size_t at = m->dumps.nr; at-- > 0;) {
			const struct dump *d = &m->dumps.data[at];

			if (d->seen_by >> i & 1 && !put(&m->views[i], d))
				return NULL;
		}
	}
	m->source = (struct code_source){space_of, find, m};
	return &m->source;
}
