/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_map.h"

#include <errno.h>

#include "os/proc.h"
#include "record/refusal/refusal.h"

enum {
	DEFAULT_BYTES = 4 * 1024 * 1024,
	MIN_BYTES = 128 * 1024, /* also the default of users who may not lock memory */
};

static size_t area_bytes(const struct rec_options *o)
{
	size_t bytes = os_page_bytes();

	if (o->aux_bytes)
		return o->aux_bytes;
	if (!o->snapshot.bytes)
		return rec_may_lock_memory() ? DEFAULT_BYTES : MIN_BYTES;
	while (bytes < o->snapshot.bytes)
		bytes *= 2;
	return bytes;
}

bool rec_aux_is_sampled(const struct rec_counters *c, const struct rec_counter *trace)
{
	vec_for_each (&c->list, e)
		if (e->attr.aux_sample_size && &c->list.data[e->leader] == trace)
			return true;
	return false;
}

/* What was not asked for in bytes may be less, where memory is short. */
static int map_smaller(struct rec_ring *r, size_t *bytes, bool may_shrink, bool is_overwrite)
{
	int err;

	while ((err = os_ring_map_aux(&r->ring, r->fd, *bytes, is_overwrite)) != 0) {
		if (!may_shrink || (err != -EPERM && err != -ENOMEM) || *bytes <= MIN_BYTES)
			return err;
		*bytes /= 2;
	}
	return 0;
}

enum clew_err rec_aux_map(struct rec_counters *c, const struct rec_options *o,
			  const struct rec_ui *ui, struct rec_error *error)
{
	size_t wanted = area_bytes(o), bytes = wanted;

	vec_for_each (&c->rings, r) {
		bool is_overwrite = o->snapshot.is_on || rec_aux_is_sampled(c, r->owner);
		int err;

		if (!r->owner->aux || r->is_backward)
			continue;
		err = map_smaller(r, &bytes, !o->aux_bytes && !o->snapshot.bytes, is_overwrite);
		if (err)
			return rec_counter_refuse(c, r->owner, r->place,
						  (struct rec_refusal){.call = REC_CALL_MMAP_AUX,
								       .os_errno = err,
								       .map_bytes = bytes},
						  error);
	}
	if (bytes < wanted)
		rec_say(ui, REC_NOTE,
			"the buffers for the trace are %zu KiB, and not %zu: more memory cannot be "
			"locked; -m ,SIZE asks for a size",
			bytes / 1024, wanted / 1024);
	return CLEW_OK;
}
