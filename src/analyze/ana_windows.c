/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_windows.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/search.h"

enum { NONE = UINT32_MAX };

static bool has_room(struct ana_windows *x, size_t nr, size_t max, size_t bytes)
{
	if (nr < max && budget_account_take(&x->account, bytes, "snapshots of trace in"))
		return true;
	x->nr_omitted++;
	return false;
}

bool ana_windows_take_ids(struct ana_windows *x, const struct perf_record *r)
{
	return perf_id_owners_take(&x->owners, &x->account, r);
}

bool ana_windows_take_aux(struct ana_windows *x, const struct perf_record *r,
			  const struct perf_sample_id *id)
{
	struct ana_window_aux a = {.at = r->offset,
				   .event = id->id,
				   .time = {id->time},
				   .cpu = id->cpu,
				   .tid = id->tid};
	struct perf_aux aux;

	if (perf_aux_parse(r, &aux) != CLEW_OK || !(aux.flags & PERF_AUX_FLAG_OVERWRITE) ||
	    !has_room(x, x->aux.nr, ANA_WINDOW_AUX_MAX, 3 * sizeof(a)))
		return true;
	a.end = aux.offset;
	a.bytes = aux.size;
	return vec_push(&x->aux, a);
}

bool ana_windows_take_buffer(struct ana_windows *x, const struct perf_record *r)
{
	struct ana_window w = {.at = r->offset, .bytes = bytes_left(&r->payload)};
	struct perf_auxtrace a;
	size_t ring;

	if (perf_auxtrace_parse(r, &a) != CLEW_OK ||
	    !has_room(x, x->all.nr, ANA_WINDOWS_MAX, 2 * sizeof(w)))
		return true;
	if (!map_u64_number(&x->by_key, perf_auxtrace_ring(a.cpu, a.tid), x->nr_rings,
			    ANA_WINDOWS_MAX, &ring))
		return false;
	x->nr_rings += ring == x->nr_rings;
	w.cpu = a.cpu;
	w.tid = a.tid;
	w.ring = (uint32_t)ring;
	w.offset = a.offset;
	w.from = w.to = clew_perf_ns_none();
	return vec_push(&x->all, w);
}

/* --- closing --- */

static const uint64_t *ring_at(const struct ana_windows *x, uint32_t cpu, uint32_t tid)
{
	return map_u64_get(&x->by_key, perf_auxtrace_ring(cpu, tid));
}

static uint32_t ring_of(const struct ana_windows *x, const struct ana_window_aux *a)
{
	struct perf_id_owner of;
	const uint64_t *at = NULL;

	if (perf_id_owners_get(&x->owners, a->event, &of))
		at = ring_at(x, of.cpu, of.tid);
	if (!at && a->cpu != NONE)
		at = ring_at(x, a->cpu, NONE);
	if (!at)
		at = ring_at(x, NONE, a->tid);
	return at ? (uint32_t)*at : NONE;
}

static int by_place(const void *a, const void *b)
{
	const struct ana_window_aux *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_at(const void *a, const void *b)
{
	const struct ana_window *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/** The ring's AUX records before @p at of the file: the end of them in x->aux. */
static size_t aux_before(const struct ana_windows *x, uint32_t ring, uint64_t at)
{
	const struct ana_window_aux *a = x->aux.data;

	return search_first(x->aux.nr, i, a[i].ring > ring || (a[i].ring == ring && a[i].at >= at));
}

/* Records [first, end) are of the window and what was overwritten since the one before. Where they
 * count bytes, the window begins in one of them; else their sizes say in which, if they are true.
 * What follows that record is certain. */
static struct clew_perf_ns begin_of(const struct ana_windows *x, const struct ana_window *w,
				    size_t first, size_t end)
{
	const struct ana_window_aux *a = x->aux.data;
	/* Sizes of windows are filled up to 8. */
	bool is_counter = w->offset + w->bytes - a[end - 1].end < 8;
	uint64_t covered = 0;

	for (size_t i = end; i-- > first;) {
		if (is_counter && a[i].end < w->offset)
			return i + 1 < end ? a[i + 1].time : clew_perf_ns_none();
		covered += a[i].bytes;
		if (is_counter || covered < w->bytes)
			continue;
		if (i == end - 1)
			break; /* of some PMUs, all records are as large as the area */
		return covered == w->bytes && i > first ? a[i - 1].time : a[i].time;
	}
	return is_counter ? a[first].time : clew_perf_ns_none();
}

/** The ring's window before; NULL: none. */
struct earlier {
	const struct ana_window *window;
	size_t end; /* of its AUX records */
};

static void find_times(const struct ana_windows *x, struct ana_window *w,
		       const struct earlier *before, size_t end)
{
	const struct ana_window *last = before->window;
	size_t first = last ? before->end : aux_before(x, w->ring, 0);

	w->is_full = last ? w->offset > last->offset + last->bytes : w->offset > 0;
	if (end <= first)
		return;
	w->to = x->aux.data[end - 1].time;
	if (w->is_full)
		w->from = begin_of(x, w, first, end);
	else
		w->from = last ? last->to : (struct clew_perf_ns){0};
}

/* AUX records between two windows, or a second one of a ring: the next snapshot. */
static bool is_next(const struct ana_windows *x, const struct ana_window *w,
		    const struct ana_window *last, size_t end)
{
	size_t number = x->snapshots.nr - 1;
	const struct ana_snapshot *s = &x->snapshots.data[number];

	return (last && last->snapshot == number) ||
	       end > aux_before(x, w->ring, x->all.data[s->first].at);
}

static void add_span(struct ana_snapshot *s, const struct ana_window *w)
{
	if (!clew_perf_ns_is_known(w->from) || w->from.ns > s->from.ns)
		s->from = w->from; /* unknown is the largest */
	/* Where nothing ran later, nothing is missing. */
	if (clew_perf_ns_is_known(w->to) && (!clew_perf_ns_is_known(s->to) || w->to.ns > s->to.ns))
		s->to = w->to;
	s->bytes += w->bytes;
	s->nr++;
}

static bool add_window(struct ana_windows *x, size_t number, struct earlier *before)
{
	struct ana_window *w = &x->all.data[number];
	const struct ana_snapshot none = {.first = number, .to = clew_perf_ns_none()};
	size_t end = aux_before(x, w->ring, w->at);

	find_times(x, w, before, end);
	if ((!x->snapshots.nr || is_next(x, w, before->window, end)) &&
	    !vec_push(&x->snapshots, none))
		return false;
	w->snapshot = (uint32_t)x->snapshots.nr - 1;
	add_span(&x->snapshots.data[w->snapshot], w);
	*before = (struct earlier){w, end};
	return true;
}

bool ana_windows_close(struct ana_windows *x)
{
	clew_auto(mem_free_at) struct earlier *before =
		mem_calloc((size_t)x->nr_rings + 1, sizeof(*before));

	if (!before)
		return false;
	if (!x->aux.nr || !x->all.nr)
		return true;
	vec_for_each (&x->aux, a)
		a->ring = ring_of(x, a);
	qsort(x->aux.data, x->aux.nr, sizeof(*x->aux.data), by_place);
	qsort(x->all.data, x->all.nr, sizeof(*x->all.data), by_at);
	for (size_t i = 0; i < x->all.nr; i++) {
		if (!add_window(x, i, &before[x->all.data[i].ring]))
			return false;
	}
	return true;
}

void ana_windows_done(struct ana_windows *x)
{
	map_u64_done(&x->by_key);
	map_u64_done(&x->owners);
	vec_done(&x->all);
	vec_done(&x->aux);
	vec_done(&x->snapshots);
	budget_account_done(&x->account);
}
