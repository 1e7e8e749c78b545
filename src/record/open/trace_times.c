/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/trace_times.h"

#include "os/file.h"

static const struct rec_counter *tracker(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (e->is_tracking && !e->event)
			return e;
	return NULL;
}

/* value, enabled, running, then by the format: id, lost */
static bool read_one(const struct rec_counter *e, size_t place, uint64_t *ran, uint64_t *lost)
{
	const uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	uint64_t words[8];
	size_t at = 3 + ((e->attr.read_format & PERF_FORMAT_ID) != 0);
	long n;

	if ((e->attr.read_format & times) != times || e->attr.read_format & PERF_FORMAT_GROUP)
		return false;
	n = os_read(e->fds[place], words, sizeof(words));
	if (n < 24)
		return false;
	*ran += words[2];
	if (e->attr.read_format & PERF_FORMAT_LOST && n >= (long)(8 * (at + 1)))
		*lost += words[at];
	return true;
}

static bool add_place(const struct rec_counter *trace, const struct rec_counter *due, size_t place,
		      struct rec_trace_times *t)
{
	uint64_t ignored = 0;

	t->has_due &= due && due->fds[place] >= 0 && read_one(due, place, &t->due_before, &ignored);
	if (!read_one(trace, place, &t->ran, &t->nr_lost))
		return false;
	if (t->has_due)
		read_one(due, place, &t->due_after, &ignored);
	return true;
}

bool rec_trace_times_read(const struct rec_counters *c, const struct rec_ring *r,
			  struct rec_trace_times *ret)
{
	const struct rec_counter *due = tracker(c);
	struct rec_trace_times t = {.has_due = true};
	bool is_ok = false;

	vec_for_each (&c->list, e) {
		for (size_t i = r->from; rec_counter_traces(c, e) && i < r->to; i++) {
			if (e->fds[i] < 0)
				continue;
			if (!add_place(e, due, i, &t))
				return false;
			is_ok = true;
		}
	}
	*ret = t;
	return is_ok;
}

bool rec_tracker_ran(const struct rec_counters *c, const struct rec_ring *r, uint64_t *ret)
{
	const struct rec_counter *e = tracker(c);
	uint64_t ran = 0, ignored = 0;
	bool is_ok = false;

	for (size_t i = r->from; e && e->is_enabled_at_open && i < r->to; i++)
		if (e->fds[i] >= 0)
			is_ok = read_one(e, i, &ran, &ignored);
	*ret = ran;
	return is_ok;
}
