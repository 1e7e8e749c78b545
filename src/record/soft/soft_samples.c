/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_samples.h"

#include <string.h>

enum { MAX_WORDS = 5 }; /* of a record, up to the time: header, id, address, thread, time */

void soft_samples_open(struct soft_samples *s, const struct rec_counters *c,
		       const struct soft_plan *plan)
{
	*s = (struct soft_samples){.counters = c, .plan = plan};
	if (!plan->needs_calls)
		return;
	vec_for_each (&c->rings, r) {
		struct os_ring ring;

		if (!r->is_backward && !os_ring_map(r->fd, r->ring.data_bytes, false, &ring) &&
		    !vec_push(&s->rings, ring))
			os_ring_unmap(&ring);
	}
}

/* The event that resumes at a system call, by the id of its samples. */
static const struct rec_counter *event_of(const struct soft_samples *s, uint64_t id)
{
	vec_for_each (&s->plan->triggers, g) {
		const struct rec_counter *e = &s->counters->list.data[g->event];

		for (size_t i = 0;
		     g->is_resume && g->place == SOFT_AT_CALL_ENTRY && i < s->counters->nr_places;
		     i++)
			if (e->fds[i] >= 0 && e->ids[i] == id)
				return e;
	}
	return NULL;
}

/* @return 0: the record is something else. */
static uint64_t time_of(const struct soft_samples *s, const uint64_t *words, int tid)
{
	const struct rec_counter *e = event_of(s, words[1]);
	const uint64_t *at = words + 2;

	if (!e || !(e->attr.sample_type & PERF_SAMPLE_TID) ||
	    !(e->attr.sample_type & PERF_SAMPLE_TIME))
		return 0;
	at += (e->attr.sample_type & PERF_SAMPLE_IP) != 0;
	return (int)(*at >> 32) == tid ? at[1] : 0;
}

static void copy(const struct bytes part[2], size_t at, void *ret, size_t size)
{
	size_t first = bytes_left(&part[0]), n = at < first ? first - at : 0;

	n = n < size ? n : size;
	if (n)
		memcpy(ret, part[0].pos + at, n);
	if (n < size)
		memcpy((char *)ret + n, part[1].pos + (at + n - first), size - n);
}

static uint64_t last_in(const struct soft_samples *s, struct os_ring *r, int tid)
{
	struct bytes part[2];
	size_t size = os_ring_follow(r, part);
	uint64_t last = 0, ns, words[MAX_WORDS];
	struct perf_event_header h;

	for (size_t at = 0; size - at >= sizeof(h); at += h.size) {
		copy(part, at, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > size - at)
			break;
		if (h.type != PERF_RECORD_SAMPLE || h.size < sizeof(words))
			continue;
		copy(part, at, words, sizeof(words));
		ns = time_of(s, words, tid);
		last = ns ? ns : last;
	}
	return last;
}

uint64_t soft_samples_last(struct soft_samples *s, int tid)
{
	uint64_t last = 0;

	vec_for_each (&s->rings, r) {
		uint64_t ns = last_in(s, r, tid);

		last = ns > last ? ns : last;
	}
	return last;
}
