/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_area.h"

#include <string.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/proc.h"
#include "record/aux/aux_drain.h"
#include "record/aux/aux_restart.h"

/* Reading times interrupts the CPU that is traced. */
enum { TIMES_NS = 90 * 1000 * 1000 };

bool aux_area_init(struct aux_area *a, struct rec_ring *r, uint32_t idx)
{
	const struct aux_pmu *pmu = r->owner ? r->owner->aux : NULL;
	size_t keep = aux_window_keep(r->ring.aux_bytes);

	*a = (struct aux_area){.ring = r, .idx = idx};
	if (!r->ring.is_aux_overwrite)
		return true;
	a->window = (struct aux_window_state){
		.area = r->ring.aux_bytes,
		.is_counter = pmu && pmu->info == PERF_AUXTRACE_CS_ETM,
		.has_true_sizes = pmu && pmu->info == PERF_AUXTRACE_ARM_SPE,
	};
	if (!a->window.is_counter)
		a->window.before = mem_alloc(keep);
	return a->window.is_counter || a->window.before;
}

void aux_area_done(struct aux_area *a)
{
	mem_free(a->window.before);
	a->window.before = NULL;
}

static struct rec_aux_place place_of(const struct aux_area *a)
{
	return (struct rec_aux_place){a->idx, (uint32_t)a->ring->tid, (uint32_t)a->ring->cpu,
				      a->ring->again.aux_bytes};
}

/*
 * Between the reads of two events anything may happen. So what should have been run is measured
 * from after the last reading to before this one: too little, never too much.
 */
static void take_times(struct aux_area *a, const struct rec_counters *c, struct aux_restart *r)
{
	struct rec_trace_times now;
	bool is_known = rec_trace_times_read(c, a->ring, &now);

	if (is_known && a->has_times) {
		r->has_times = now.has_due && a->times.has_due;
		r->ran_before = a->times.ran;
		r->due_before = a->times.due_after;
		r->ran = now.ran;
		r->due = now.due_before;
		r->has_lost |= now.nr_lost != a->times.nr_lost;
	}
	a->has_times = is_known;
	a->times = now;
	a->times_ns = os_clock_ns();
}

static bool must_restart(struct aux_area *a, const struct rec_counters *c, size_t fill)
{
	const struct rec_aux_seen *now = &a->ring->aux_seen;
	struct aux_restart r = {
		.has_truncated = now->nr_truncated > a->before.nr_truncated,
		.has_lost = now->nr_lost > a->before.nr_lost,
		.area = a->ring->ring.aux_bytes,
		.fill = fill,
		.page = os_page_bytes(),
	};

	if (a->ring->owner)
		r.watermark = a->ring->owner->attr.aux_watermark;
	if (os_clock_ns() - a->times_ns >= TIMES_NS)
		take_times(a, c, &r);
	a->before = *now;
	return aux_restart_is_due(&r);
}

/* Not what was off by our will, for a moment. */
static void restart(struct aux_area *a, const struct rec_counters *c)
{
	rec_counters_restart(c, a->ring);
	a->has_times = rec_trace_times_read(c, a->ring, &a->times);
	a->nr_restarts++;
}

enum clew_err aux_area_drain(struct aux_area *a, const struct rec_counters *c, struct rec_pass *p)
{
	const struct rec_aux_place place = place_of(a);
	uint64_t bytes = 0;
	enum clew_err err = rec_aux_drain(&a->ring->ring, &place, p->file->writer, &bytes);

	a->bytes += bytes;
	p->has_any |= bytes != 0;
	if (!rec_counters_trace(c))
		a->has_times = false;
	else if (err == CLEW_OK && must_restart(a, c, (size_t)bytes))
		restart(a, c);
	return err;
}

static void note_span(struct aux_area *a, const struct aux_window *w)
{
	const struct rec_aux_seen *before = &a->before;
	const struct aux_span_ask ask = {
		.bytes = w->to - w->from,
		.is_full = w->is_full,
		.is_counter = a->window.is_counter,
		.has_true_sizes = a->window.has_true_sizes,
		.since_ns =
			before->nr ? before->last[(before->nr - 1) % REC_AUX_SEEN_KEPT].time : 0,
		.nr_before = before->nr,
	};

	a->window_bytes = ask.bytes;
	a->is_window_full = ask.is_full;
	a->span = aux_span_of(&a->ring->aux_seen, &ask);
}

void aux_area_renew(struct aux_area *a, uint64_t base)
{
	struct aux_window_state *w = &a->window;

	if (base + w->count > a->ring->again.aux_bytes) /* a head may be less than was written */
		a->ring->again.aux_bytes = base + w->count;
	w->head = w->count = w->nr_before = 0;
	a->before = a->ring->aux_seen;
	a->has_times = false;
}

static void copy_parts(struct aux_area *a, uint8_t *to)
{
	struct bytes *part = a->taken;
	size_t first = bytes_left(&part[0]), second = bytes_left(&part[1]);

	memcpy(to, part[0].pos, first);
	if (second)
		memcpy(to + first, part[1].pos, second);
	part[0] = bytes_of(to, first + second);
	part[1] = bytes_of(to, 0);
}

size_t aux_area_take(struct aux_area *a, size_t limit, uint8_t *to)
{
	const struct os_ring *r = &a->ring->ring;
	const struct rec_aux_seen *now = &a->ring->aux_seen;
	const struct aux_window_ask ask = {
		.head = r->aux ? os_ring_aux_head(r) : 0,
		.has_sum = now->nr_lost == a->before.nr_lost,
		.sum = now->bytes - a->before.bytes,
		.limit = limit,
	};
	struct aux_window w;

	a->window_bytes = 0;
	if (!r->aux)
		return 0; /* its CPU could not be opened again */
	w = aux_window_next(&a->window, r->aux, &ask);
	aux_window_parts(&w, r->aux, r->aux_bytes, a->taken);
	a->taken_from = w.from;
	if (to)
		copy_parts(a, to);
	aux_window_taken(&a->window, r->aux, ask.head, &w);
	note_span(a, &w);
	a->before = *now;
	return (size_t)(w.to - w.from);
}

enum clew_err aux_area_put(struct aux_area *a, struct rec_pass *p)
{
	const struct rec_aux_place place = place_of(a);
	size_t bytes = bytes_left(&a->taken[0]) + bytes_left(&a->taken[1]);
	enum clew_err err;

	if (!bytes)
		return CLEW_OK;
	err = rec_aux_put(p->file->writer, &place, a->taken_from, a->taken);
	a->taken[0] = a->taken[1] = (struct bytes){0};
	if (err != CLEW_OK)
		return err;
	a->bytes += bytes;
	p->has_any = true;
	return CLEW_OK;
}
