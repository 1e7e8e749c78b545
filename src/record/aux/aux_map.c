/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_map.h"

#include "record/refusal/refusal.h"

enum { DEFAULT_BYTES = 4 * 1024 * 1024, DEFAULT_BYTES_UNPRIVILEGED = 128 * 1024 };

static size_t area_bytes(const struct rec_options *o)
{
	if (o->aux_bytes)
		return o->aux_bytes;
	return rec_may_lock_memory() ? DEFAULT_BYTES : DEFAULT_BYTES_UNPRIVILEGED;
}

bool rec_aux_is_sampled(const struct rec_counters *c, const struct rec_counter *trace)
{
	vec_for_each (&c->list, e)
		if (e->attr.aux_sample_size && &c->list.data[e->leader] == trace)
			return true;
	return false;
}

enum clew_err rec_aux_map(struct rec_counters *c, const struct rec_options *o,
			  struct rec_error *error)
{
	vec_for_each (&c->rings, r) {
		struct rec_refusal refused = {.call = REC_CALL_MMAP_AUX,
					      .map_bytes = area_bytes(o)};

		if (!r->owner->aux)
			continue;
		refused.os_errno = os_ring_map_aux(&r->ring, r->fd, refused.map_bytes,
						   rec_aux_is_sampled(c, r->owner));
		if (refused.os_errno)
			return rec_counter_refuse(c, r->owner, r->place, refused, error);
	}
	return CLEW_OK;
}
