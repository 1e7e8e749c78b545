/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/reopen.h"

#include "os/perf/perf_event.h"
#include "record/open/open_impl.h"
#include "record/refusal/refusal.h"

struct span {
	size_t from, to; /* places */
	int cpu;
};

static struct span places_of(const struct rec_counters *c, int cpu)
{
	size_t nr = c->target->tids.nr;

	for (size_t i = 0; i < c->target->cpus.nr; i++)
		if (c->target->cpus.data[i] == cpu)
			return (struct span){i * nr, (i + 1) * nr, cpu};
	return (struct span){0, 0, cpu};
}

/* What the dead events have counted is read before they go. */
static void keep_counts(struct rec_counters *c, const struct span *s)
{
	for (size_t e = 0; e < c->list.nr; e++) {
		for (size_t i = s->from; i < s->to; i++) {
			struct rec_before *before = &c->list.data[e].before[i];
			struct rec_lost lost;

			if (rec_counters_lost(c, e, i, &lost))
				before->lost = lost.lost;
			before->count = rec_counter_count(&c->list.data[e], i);
		}
	}
}

/* A buffer that is still mapped holds its place of an exclusive PMU. */
static void take_down(struct rec_counters *c, const struct span *s)
{
	rec_counters_close(c, s->from, s->to);
	vec_for_each (&c->rings, r) {
		struct os_ring old = r->ring;

		if (r->cpu != s->cpu)
			continue;
		if (old.aux)
			r->again.aux_bytes += os_ring_aux_head(&old);
		os_ring_unmap(&r->ring);
		r->fd = -1;
		r->ring = (struct os_ring){.data_bytes = old.data_bytes,
					   .aux_bytes = old.aux_bytes,
					   .is_backward = old.is_backward,
					   .is_aux_overwrite = old.is_aux_overwrite,
					   .nr_skips = old.nr_skips};
	}
}

static bool rename_id(struct rec_counters *c, const struct span *s, uint64_t now, uint64_t file)
{
	vec_for_each (&c->rings, r)
		if (r->cpu == s->cpu && !vec_push(&r->again.ids, ((struct ring_id){now, file})))
			return false;
	return true;
}

static enum clew_err open_event(struct rec_counters *c, struct rec_counter *e, const struct span *s,
				struct rec_error *error)
{
	for (size_t i = s->from; i < s->to; i++) {
		uint64_t id = 0;
		int err;

		if (!e->ids[i] || !rec_counter_is_wanted_on(e, s->cpu))
			continue;
		e->fds[i] = rec_counter_open_at(c, e, i);
		err = e->fds[i] < 0 ? e->fds[i] : os_perf_id(e->fds[i], &id);
		if (err < 0)
			return rec_counter_refuse(c, e, i, (struct rec_refusal){.os_errno = err},
						  error);
		if (!rename_id(c, s, id, e->ids[i]))
			return rec_fail_memory(error);
	}
	return CLEW_OK;
}

static enum clew_err open_events(struct rec_counters *c, const struct span *s,
				 struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&c->rings, r)
		if (r->cpu == s->cpu)
			r->again.ids.nr = 0; /* of events that died before these */
	for (int turn = 0; turn < 2; turn++) /* who tracks tasks is there before all others */
		vec_for_each (&c->list, e)
			if (err == CLEW_OK && (!e->event && e->is_tracking) == !turn)
				err = open_event(c, e, s, error);
	return err;
}

static enum clew_err map_ring(struct rec_counters *c, struct rec_ring *r, const struct span *s,
			      struct rec_error *error)
{
	const struct os_ring old = r->ring;
	struct rec_refusal refusal = {.call = REC_CALL_MMAP, .map_bytes = old.data_bytes};
	int fd = r->owner->fds[r->place];
	int err = os_ring_map(fd, old.data_bytes, old.is_backward, &r->ring);

	r->ring.nr_skips = old.nr_skips;
	if (!err && old.aux_bytes) {
		refusal =
			(struct rec_refusal){.call = REC_CALL_MMAP_AUX, .map_bytes = old.aux_bytes};
		err = os_ring_map_aux(&r->ring, fd, old.aux_bytes, old.is_aux_overwrite);
	}
	refusal.os_errno = err;
	if (err)
		return rec_counter_refuse(c, r->owner, r->place, refusal, error);
	r->fd = fd;
	r->next_owner = 0;
	r->again.is_unwatched = true;
	r->again.has_gap = true;
	r->again.has_unknown = true;
	return rec_counters_redirect(c, s->from, s->to, fd, old.is_backward, error);
}

static enum clew_err map_rings(struct rec_counters *c, const struct span *s,
			       struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&c->rings, r)
		if (r->cpu == s->cpu && err == CLEW_OK)
			err = map_ring(c, r, s, error);
	return err == CLEW_OK ? rec_counters_filter(c, s->from, s->to, error) : err;
}

/* Traces last, and what acts on them is not touched once they run. */
static void switch_on(const struct rec_counters *c, const struct span *s)
{
	for (int turn = 0; turn < 3; turn++) {
		vec_for_each (&c->list, e) {
			bool is_member = &c->list.data[e->leader] != e;

			for (size_t i = s->from; i < s->to; i++) {
				if (e->fds[i] < 0 || e->is_enabled_at_open)
					continue;
				if (is_member && !e->is_on && turn == 0)
					os_perf_disable(e->fds[i]);
				if (!is_member && e->is_on && turn == (e->aux ? 2 : 1))
					os_perf_enable(e->fds[i]);
			}
		}
	}
}

enum clew_err rec_counters_reopen(struct rec_counters *c, int cpu, struct rec_error *error)
{
	struct span s = places_of(c, cpu);
	enum clew_err err;

	keep_counts(c, &s);
	take_down(c, &s);
	err = open_events(c, &s, error);
	if (err == CLEW_OK)
		err = map_rings(c, &s, error);
	if (err == CLEW_OK)
		switch_on(c, &s);
	else
		take_down(c, &s);
	return err;
}
