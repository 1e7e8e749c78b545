/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/map_changes.h"

enum { MAX_CHANGES = 1 << 16 };

bool map_changes_add(struct map_changes *m, uint32_t pid, uint64_t time, uint64_t start,
		     uint64_t end)
{
	const struct map_change c = {time, start, end, pid};
	struct map_change_list *l = &m->round[0];

	if (time > l->newest)
		l->newest = time;
	if (l->nr >= MAX_CHANGES) {
		l->is_full = true;
		return true;
	}
	return vec_push(l, c);
}

/* A return address may lie right after its code's end. */
static bool covers_one(const struct map_change *c, const uint64_t *pcs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (pcs[i] >= c->start && pcs[i] <= c->end)
			return true;
	}
	return false;
}

/* @p pcs NULL: anywhere. */
static bool find(const struct map_changes *m, uint32_t pid, uint64_t time, const uint64_t *pcs,
		 size_t nr)
{
	if (m->forgotten && time <= m->forgotten)
		return true;
	for (size_t i = 0; i < 2; i++) {
		if (m->round[i].is_full)
			return true;
		vec_for_each (&m->round[i], c) {
			if (c->pid == pid && c->time >= time && (!pcs || covers_one(c, pcs, nr)))
				return true;
		}
	}
	return false;
}

bool map_changes_any(const struct map_changes *m, uint32_t pid, uint64_t time)
{
	return find(m, pid, time, NULL, 0);
}

bool map_changes_at(const struct map_changes *m, uint32_t pid, uint64_t time, const uint64_t *pcs,
		    size_t nr)
{
	return find(m, pid, time, pcs, nr);
}

void map_changes_age(struct map_changes *m)
{
	const struct map_change_list old = m->round[1];

	if (old.newest > m->forgotten)
		m->forgotten = old.newest;
	m->round[1] = m->round[0];
	m->round[0] = old;
	m->round[0].nr = 0;
	m->round[0].is_full = false;
	m->round[0].newest = 0;
}

void map_changes_done(struct map_changes *m)
{
	vec_done(&m->round[0]);
	vec_done(&m->round[1]);
}
