/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_guests.h"

#include "perfdata/perf_record.h"

enum { MAX_IDS = 1 << 24 };

static const char guests_of[] = "virtual machines of";

static uint32_t vcpu_of(const struct perf_id_index_entry *e)
{
	return e->vcpu < WHO_NONE ? (uint32_t)e->vcpu : WHO_NONE;
}

enum clew_err who_guests_take_ids(struct who_guests *g, const struct perf_record *r)
{
	struct perf_id_index x;

	if (perf_id_index_parse(r, &x))
		return CLEW_BAD_FILE;
	for (uint64_t i = 0; i < x.nr; i++) {
		struct perf_id_index_entry e = perf_id_index_get(&x, i);

		if (!e.machine_pid || e.machine_pid >= WHO_NONE)
			continue;
		if (budget_account_take(&g->account, BUDGET_TABLE_BYTES, guests_of) &&
		    !map_u64_put(&g->by_event, e.id, e.machine_pid | (uint64_t)vcpu_of(&e) << 32))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

uint32_t who_guests_machine_of(const struct who_guests *g, uint64_t event)
{
	const uint64_t *at = map_u64_get(&g->by_event, event);

	return at ? (uint32_t)*at : 0;
}

struct who_vcpu who_guests_vcpu_of(const struct who_guests *g, uint64_t event)
{
	const uint64_t *at = map_u64_get(&g->by_event, event);

	return at ? (struct who_vcpu){(uint32_t)*at, (uint32_t)(*at >> 32)} : (struct who_vcpu){0};
}

static uint64_t key_of(uint32_t machine, uint32_t id)
{
	return (uint64_t)machine << 32 | id;
}

uint32_t who_guests_find(const struct who_guests *g, uint32_t machine, uint32_t id)
{
	const uint64_t *at = map_u64_get(&g->numbers, key_of(machine, id));

	return at ? (uint32_t)*at : WHO_NONE;
}

uint32_t who_guests_number(struct who_guests *g, uint32_t machine, uint32_t id)
{
	uint32_t number = who_guests_find(g, machine, id);

	if (number != WHO_NONE || g->ids.nr >= MAX_IDS ||
	    !budget_account_take(&g->account, BUDGET_TABLE_BYTES, guests_of))
		return number;
	number = WHO_GUEST_FIRST + (uint32_t)g->ids.nr;
	if (!vec_push(&g->ids, (struct who_guest_id){machine, id}) ||
	    !map_u64_put(&g->numbers, key_of(machine, id), number))
		return WHO_NONE;
	return number;
}

void who_guests_done(struct who_guests *g)
{
	map_u64_done(&g->by_event);
	map_u64_done(&g->numbers);
	vec_done(&g->ids);
	budget_account_done(&g->account);
}
