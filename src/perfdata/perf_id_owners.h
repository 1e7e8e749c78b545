/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_ID_OWNERS_H
#define PERFDATA_PERF_ID_OWNERS_H

#include "base/budget.h"
#include "base/map_u64.h"
#include "perfdata/perf_record.h"

/** The CPU and the thread that an event counts. All ones: not only one. */
struct perf_id_owner {
	uint32_t cpu, tid;
};

/**
 * Add what an ID_INDEX says to @p owners, a table by event id. @p account pays for it: what it
 * cannot pay for is omitted, and so is a damaged record.
 * @return false: no memory.
 */
bool perf_id_owners_take(struct map_u64 *owners, struct budget_account *account,
			 const struct perf_record *r);

/** @return false: no ID_INDEX has the event; *ret is as it was. */
bool perf_id_owners_get(const struct map_u64 *owners, uint64_t id, struct perf_id_owner *ret);

#endif
