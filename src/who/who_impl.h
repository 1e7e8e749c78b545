/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_IMPL_H
#define WHO_WHO_IMPL_H

#include "base/map_u64.h"
#include "who/who.h"
#include "who/who_guests.h"
#include "who/who_maps.h"

struct who {
	struct map_u64 threads; /* tid -> struct who_thread * */
	struct who_space *kernel;
	struct who_thread *others; /* stands for those the budget had no room for */
	struct budget_account account;
	struct who_guests guests;
	struct intern texts; /* names and paths */
	struct who_map_pool pool;
	uint32_t nr_spaces;
	uint64_t nr_maps_dropped;
	bool keeps_maps_over_exec;
};

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
