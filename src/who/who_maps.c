/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_maps.h"

static const char mappings[] = "mappings of";

static bool charge(struct who_map_pool *p, uint64_t bytes)
{
	if (!p->account || budget_account_take(p->account, bytes, mappings))
		return true;
	p->is_full = true;
	return false;
}

void who_map_pool_done(struct who_map_pool *p)
{
	arena_done(&p->memory);
}

struct who_map *who_map_new(struct who_map_pool *p)
{
	return charge(p, sizeof(struct who_map)) ? arena_zalloc(&p->memory, sizeof(struct who_map))
						 : NULL;
}

void who_map_init(struct who_map *ret, const struct perf_mmap *mm)
{
	ret->start = mm->start;
	ret->end = mm->start + mm->len;
	ret->pgoff = mm->pgoff;
	ret->prot = mm->prot;
	ret->flags = mm->flags;
	ret->maj = mm->maj;
	ret->min = mm->min;
	ret->ino = mm->ino;
	ret->ino_generation = mm->ino_generation;
	ret->pid = mm->pid;
	ret->build_id_bytes = mm->has_build_id ? mm->build_id_bytes : 0;
	memcpy(ret->build_id, mm->build_id, sizeof(ret->build_id));
}

static struct who_maps *maps_new(struct who_map_pool *p, size_t cap)
{
	struct who_maps *m;

	if (p->nr_slots + cap > WHO_MAX_MAP_SLOTS) {
		p->is_full = true;
		return NULL;
	}
	if (!charge(p, cap * sizeof(m->v[0])))
		return NULL;
	m = mem_alloc(sizeof(*m) + cap * sizeof(m->v[0]));
	if (!m)
		return NULL;
	*m = (struct who_maps){.refs = 1, .cap = cap};
	p->nr_slots += cap;
	return m;
}

struct who_maps *who_maps_hold(struct who_maps *m)
{
	if (m)
		m->refs++;
	return m;
}

void who_maps_release(struct who_map_pool *p, struct who_maps *m)
{
	if (!m || --m->refs)
		return;
	p->nr_slots -= m->cap;
	if (p->account)
		budget_account_give(p->account, m->cap * sizeof(m->v[0]));
	mem_free(m);
}

bool who_maps_own(struct who_map_pool *p, struct who_maps **m, size_t extra)
{
	struct who_maps *old = *m;
	size_t nr = old ? old->nr : 0, cap = nr + extra;

	if (old && old->refs == 1 && old->cap >= cap)
		return true;
	*m = maps_new(p, cap + cap / 2 + 8);
	if (!*m) {
		*m = old;
		return false;
	}
	if (nr)
		memcpy((*m)->v, old->v, nr * sizeof(old->v[0]));
	(*m)->nr = nr;
	who_maps_release(p, old);
	return true;
}

/* Maps are never changed: others may share this one. */
static bool cut(void *pool, void *element, uint64_t start, uint64_t end)
{
	struct who_map **at = element, *part = who_map_new(pool);

	if (!part)
		return false;
	*part = **at;
	part->start = start;
	part->end = end;
	part->pgoff += start - (*at)->start;
	*at = part;
	return true;
}

static const struct interval_type type = {sizeof(struct who_map *), true, cut};

static struct interval_map intervals_of(const struct who_maps *m)
{
	return (struct interval_map){&type, m ? (void *)m->v : NULL, m ? m->nr : 0};
}

struct who_map *who_maps_find(const struct who_maps *m, uint64_t addr)
{
	struct interval_map v = intervals_of(m);
	size_t i = interval_find(&v, addr);

	return i < v.nr ? m->v[i] : NULL;
}

struct interval_range who_maps_overlaps(const struct who_maps *m, uint64_t start, uint64_t end)
{
	struct interval_map v = intervals_of(m);

	return interval_overlaps(&v, start, end);
}

bool who_maps_insert(struct who_map_pool *p, struct who_maps *m, struct who_map *map)
{
	struct interval_map v = intervals_of(m);

	if (!interval_insert(&v, p, &map))
		return false;
	m->nr = v.nr;
	return true;
}

void who_maps_remove(struct who_maps *m, struct interval_range range)
{
	struct interval_map v = intervals_of(m);

	interval_remove(&v, range);
	m->nr = v.nr;
}
