/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_timeline.h"

#include "base/search.h"

const struct who_change *who_timeline_at(const struct who_timeline *l, struct clew_perf_ns time)
{
	size_t after = search_first(l->nr, i, l->data[i].time.ns > time.ns);

	return after ? &l->data[after - 1] : NULL;
}

bool who_timeline_inherit(struct who_timeline *l, struct clew_perf_ns time, uint32_t value,
			  struct clew_perf_ns since)
{
	uint64_t age = since.ns < time.ns ? (time.ns - since.ns + WHO_AGE_NS - 1) / WHO_AGE_NS : 0;

	/* Records without a time count from where they stand. */
	if (l->nr && l->data[l->nr - 1].time.ns > time.ns)
		time = l->data[l->nr - 1].time;
	return vec_push(l, (struct who_change){time, value,
					       age < UINT32_MAX ? (uint32_t)age : UINT32_MAX});
}

bool who_timeline_add(struct who_timeline *l, struct clew_perf_ns time, uint32_t value)
{
	return who_timeline_inherit(l, time, value, time);
}
