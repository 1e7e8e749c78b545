/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_id_owners.h"

/* The table's values: thread << 32 | CPU. */
static uint64_t value_of(const struct perf_id_index_entry *e)
{
	uint64_t cpu = e->cpu < UINT32_MAX ? e->cpu : UINT32_MAX;
	uint64_t tid = e->tid < UINT32_MAX ? e->tid : UINT32_MAX;

	return tid << 32 | cpu;
}

bool perf_id_owners_take(struct map_u64 *owners, struct budget_account *account,
			 const struct perf_record *r)
{
	struct perf_id_index ids;

	if (perf_id_index_parse(r, &ids) != CLEW_OK)
		return true;
	for (uint64_t i = 0; i < ids.nr; i++) {
		struct perf_id_index_entry e = perf_id_index_get(&ids, i);

		if (!budget_account_take(account, BUDGET_TABLE_BYTES, "ids of events in"))
			return true;
		if (!map_u64_put(owners, e.id, value_of(&e)))
			return false;
	}
	return true;
}

bool perf_id_owners_get(const struct map_u64 *owners, uint64_t id, struct perf_id_owner *ret)
{
	const uint64_t *at = map_u64_get(owners, id);

	if (!at)
		return false;
	*ret = (struct perf_id_owner){(uint32_t)*at, (uint32_t)(*at >> 32)};
	return true;
}
