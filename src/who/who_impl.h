/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_IMPL_H
#define WHO_WHO_IMPL_H

#include "base/arena.h"
#include "base/map_u64.h"
#include "who/who.h"
#include "who/who_guests.h"

struct who {
	struct map_u64 threads; /* tid -> struct who_thread * */
	struct who_space *kernel;
	struct who_thread *others; /* stands for those the budget had no room for */
	struct budget_account account;
	struct who_guests guests;
	struct intern texts; /* names and paths */
	struct arena maps;
	uint32_t nr_spaces;
	uint64_t nr_map_slots; /* over all spaces; bounded, see who_space.c */
	uint64_t nr_maps_dropped;
	bool is_full; /* the bound, or the budget's was met */
	bool keeps_maps_over_exec;
};

/** All but the path. */
void who_map_init(struct who_map *ret, const struct perf_mmap *mm);

/** The part [start, end) of the map *@p at in place of it, in @p into. @return false: that is NULL.
 */
bool who_map_cut(struct who_map **at, struct who_map *into, uint64_t start, uint64_t end);

/** CLEW_LIMIT: the budget has no room for it; CLEW_NO_MEMORY. */
enum clew_err who_text(struct who *w, const char *s, const char **ret, uint32_t *ret_id);

struct who_space *who_space_new(struct who *w);
struct who_space *who_space_hold(struct who_space *s);
void who_space_release(struct who *w, struct who_space *s);

/** What fork does: a space of its own with the same maps, shared until one of both changes. */
struct who_space *who_space_clone(struct who *w, struct who_space *from);

/** What exec does; see who_space_settle(). */
void who_space_exec(struct who *w, struct who_space *s);

#endif
