/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_GUESTS_H
#define WHO_WHO_GUESTS_H

#include <clew/err.h>

#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_record.h"
#include "who/who.h"
#include "who/who_ids.h"

/*
 * Virtual machines, each named by the pid of its host process. `perf inject --guest-data` puts a
 * guest's records among the host's: their events have ids of their own, and ID_INDEX names the
 * machine. A guest's processes and threads have numbers here that no host has.
 */

enum {
	WHO_GUEST_FIRST = 0xc0000000u, /* pids and tids of guests start here */
	WHO_GUEST_KERNEL_PID = UINT32_MAX,
};

struct who_guest_id {
	uint32_t machine, id; /* id: the pid or tid there */
};

struct who_guests {
	struct budget_account account;
	struct map_u64 by_event; /* an event's id -> its machine, and vcpu << 32 */
	struct map_u64 numbers;  /* (machine, pid or tid there) -> its number */
	struct {
		VEC(struct who_guest_id); /* of each number */
	} ids;
};

/** ID_INDEX. */
enum clew_err who_guests_take_ids(struct who_guests *g, const struct perf_record *r);
uint32_t who_guests_machine_of(const struct who_guests *g, uint64_t event);
/** Of an event that is a guest's. */
struct who_vcpu who_guests_vcpu_of(const struct who_guests *g, uint64_t event);
/** 0: the host's. Asked for each sample, and few recordings have guests. */
static inline uint32_t who_guests_machine(const struct who_guests *g, uint64_t event)
{
	return g->by_event.nr ? who_guests_machine_of(g, event) : 0;
}
/** Its number, made where it has none. WHO_NONE: too many, or no memory. */
uint32_t who_guests_number(struct who_guests *g, uint32_t machine, uint32_t id);
/** WHO_NONE: no record names it. */
uint32_t who_guests_find(const struct who_guests *g, uint32_t machine, uint32_t id);
/** NULL: not a guest's. */
static inline const struct who_guest_id *who_guests_id(const struct who_guests *g, uint32_t number)
{
	uint32_t i = number - WHO_GUEST_FIRST;

	return i < g->ids.nr ? &g->ids.data[i] : NULL;
}
void who_guests_done(struct who_guests *g);

#endif
