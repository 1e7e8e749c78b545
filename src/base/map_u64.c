/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map_u64.h"

#include "base/hash.h"
#include "base/mem.h"

enum { FIRST_CAP = 16 };

static size_t slot_of(const struct map_u64 *m, uint64_t key)
{
	size_t i = hash_u64(key) & (m->cap - 1);

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static bool grow(struct map_u64 *m)
{
	struct map_u64 next = {.cap = m->cap ? m->cap * 2 : FIRST_CAP};

	next.slots = mem_calloc(next.cap, sizeof(*next.slots));
	next.used = mem_calloc(next.cap, 1);
	if (!next.slots || !next.used) {
		map_u64_done(&next);
		return false;
	}
	for (size_t i = 0; i < m->cap; i++) {
		if (!m->used[i])
			continue;
		size_t to = slot_of(&next, m->slots[i].key);

		next.slots[to] = m->slots[i];
		next.used[to] = 1;
	}
	next.nr = m->nr;
	map_u64_done(m);
	*m = next;
	return true;
}

uint64_t *map_u64_get(const struct map_u64 *m, uint64_t key)
{
	size_t i;

	if (!m->nr)
		return NULL;
	i = slot_of(m, key);
	return m->used[i] ? &m->slots[i].value : NULL;
}

bool map_u64_put(struct map_u64 *m, uint64_t key, uint64_t value)
{
	size_t i;

	if (m->nr + m->nr / 2 >= m->cap && !grow(m))
		return false;
	i = slot_of(m, key);
	m->nr += !m->used[i];
	m->used[i] = 1;
	m->slots[i] = (struct map_u64_slot){key, value};
	return true;
}

bool map_u64_number(struct map_u64 *m, uint64_t key, size_t nr, size_t max, size_t *ret)
{
	const uint64_t *number = map_u64_get(m, key);

	if (!number && (nr >= max || !map_u64_put(m, key, nr)))
		return false;
	*ret = number ? (size_t)*number : nr;
	return true;
}

bool map_u64_remove(struct map_u64 *m, uint64_t key)
{
	size_t hole, i;

	if (!m->nr)
		return false;
	hole = slot_of(m, key);
	if (!m->used[hole])
		return false;
	/* Linear probing without tombstones: move back every later entry that was probed past the
	 * hole. */
	for (i = (hole + 1) & (m->cap - 1); m->used[i]; i = (i + 1) & (m->cap - 1)) {
		size_t home = hash_u64(m->slots[i].key) & (m->cap - 1);

		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->used[hole] = 0;
	m->nr--;
	return true;
}

void map_u64_done(struct map_u64 *m)
{
	mem_free(m->slots);
	mem_free(m->used);
	*m = (struct map_u64){0};
}
