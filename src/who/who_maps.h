/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_MAPS_H
#define WHO_WHO_MAPS_H

#include "base/arena.h"
#include "base/budget.h"
#include "base/interval_map.h"
#include "who/who.h"

/* The mappings of an address space: shared by those that forked, until one of them changes. */

enum {
	/* Linux lets a process have 65,530 maps unless configured otherwise; a file may claim more.
	 */
	WHO_MAX_MAPS = 1 << 18,
	/* Over all spaces: bounds what a file of forks, each followed by one change, can make us
	   copy. */
	WHO_MAX_MAP_SLOTS = 32 << 20,
	WHO_PROT_EXEC = 4,
};

struct who_maps {
	uint32_t refs;
	size_t nr, cap;
	struct who_map *v[]; /* by address, disjoint */
};

/** Where maps come from. */
struct who_map_pool {
	struct arena memory;            /* of the maps themselves */
	struct budget_account *account; /* NULL: the owner charges for the pool */
	uint64_t nr_slots;              /* room for maps, over all spaces */
	bool is_full;                   /* nr_slots or the budget met its limit */
};

/** Frees the maps; each who_maps is released before. */
void who_map_pool_done(struct who_map_pool *p);

/** Zeroed. NULL: no memory, or the pool is full. */
struct who_map *who_map_new(struct who_map_pool *p);

/** All but the path. */
void who_map_init(struct who_map *ret, const struct perf_mmap *mm);

/* NULL is an address space without maps. */

struct who_maps *who_maps_hold(struct who_maps *m);
void who_maps_release(struct who_map_pool *p, struct who_maps *m);

/** The map that covers @p addr, or NULL. O(log maps). */
struct who_map *who_maps_find(const struct who_maps *m, uint64_t addr);

/** The highest address in any of them; 0: there are none. */
static inline uint64_t who_maps_last(const struct who_maps *m)
{
	return m && m->nr ? m->v[m->nr - 1]->end - 1 : 0;
}

/** Indexes of those that overlap [start, end). */
struct interval_range who_maps_overlaps(const struct who_maps *m, uint64_t start, uint64_t end);

/** Make *@p m one that nothing else refers to, with room for @p extra more maps. @return false: no
 * memory, or the pool is full; nothing was changed. */
bool who_maps_own(struct who_map_pool *p, struct who_maps **m, size_t extra);

/** @p m: own, with room for two more. @return as who_maps_own(). */
bool who_maps_insert(struct who_map_pool *p, struct who_maps *m, struct who_map *map);

/** @p m: own. */
void who_maps_remove(struct who_maps *m, struct interval_range range);

#endif
