/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_map.h"

#include <errno.h>

#include "os/proc.h"
#include "record/refusal/refusal.h"

enum { DEFAULT_BYTES = 4 * 1024 * 1024, MIN_BYTES = 128 * 1024 };

static size_t area_bytes(const struct rec_options *o)
{
	size_t bytes = os_page_bytes();

	if (o->aux_bytes)
		return o->aux_bytes;
	if (!o->snapshot.bytes)
		return DEFAULT_BYTES;
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

/* @return the ring that was refused, NULL: none. */
static struct rec_ring *map_all(struct rec_counters *c, const struct rec_options *o, size_t bytes,
				int *ret_err)
{
	vec_for_each (&c->rings, r) {
		bool is_overwrite = o->snapshot.is_on || rec_aux_is_sampled(c, r->owner);

		if (!r->owner->aux || r->owner->aux->is_soft || r->is_backward)
			continue;
		*ret_err = os_ring_map_aux(&r->ring, r->fd, bytes, is_overwrite);
		if (*ret_err)
			return r;
	}
	return NULL;
}

/* The limit of a record is warned of before (aux_rules.h). */
static void warn_cut(const struct rec_counters *c, size_t bytes, const struct rec_ui *ui)
{
	vec_for_each (&c->list, e)
		if (e->attr.aux_sample_size > bytes)
			rec_say(ui, REC_WARNING,
				"'%s': samples carry at most the %zu KiB of their trace's buffer, and not the "
				"%u bytes asked for; -m ,SIZE makes it larger",
				e->name, bytes / 1024, e->attr.aux_sample_size);
}

static bool is_short(int err)
{
	return err == -EPERM || err == -ENOMEM;
}

/* What was not asked for in bytes may be less, where memory is short; of all alike, as users have
 * one allowance. */
enum clew_err rec_aux_map(struct rec_counters *c, const struct rec_options *o,
			  const struct rec_ui *ui, struct rec_error *error)
{
	size_t wanted = area_bytes(o), bytes = wanted;
	bool may_shrink = !o->aux_bytes && !o->snapshot.bytes;
	const struct rec_ring *refused;
	int err = 0;

	while ((refused = map_all(c, o, bytes, &err)) && may_shrink && is_short(err) &&
	       bytes > MIN_BYTES) {
		vec_for_each (&c->rings, r)
			os_ring_unmap_aux(&r->ring);
		bytes /= 2;
	}
	if (refused)
		return rec_counter_refuse(c, refused->owner, refused->place,
					  (struct rec_refusal){.call = REC_CALL_MMAP_AUX,
							       .os_errno = err,
							       .map_bytes = bytes},
					  error);
	if (bytes < wanted)
		rec_say(ui, REC_NOTE,
			"the buffers for the trace are %zu KiB, and not %zu: more memory cannot be "
			"locked; -m ,SIZE asks for a size",
			bytes / 1024, wanted / 1024);
	warn_cut(c, bytes, ui);
	return CLEW_OK;
}
