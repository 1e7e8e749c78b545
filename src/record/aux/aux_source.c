/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_source.h"

#include <string.h>

#include "base/mem.h"
#include "os/clock.h"
#include "record/aux/aux_info.h"
#include "record/aux/aux_map.h"
#include "record/aux/aux_report.h"

/* What is traced between two wakeups stays in the area: a flush at a context switch wakes no
 * reader. */
enum { DRAIN_MS = 100, MAX_COPY_BYTES = 256 * 1024 * 1024 };

struct aux_source {
	struct rec_counters *counters;
	struct rec_snapshot snapshot;
	const struct rec_ui *ui;
	struct aux_areas areas;
	struct aux_cpus cpus;
	struct buf info;      /* AUXTRACE_INFO, with which each file begins */
	uint64_t nr_requests; /* asked for, not taken; the traces are then held */
	uint64_t nr_taken, nr_merged;
	uint64_t held_ns; /* when the traces were stopped for the snapshot */
	uint8_t *copy;    /* room for all that a snapshot takes; NULL: it is written as it lies */
	uint64_t nr_triggers; /* occurrences of events that take a snapshot, seen so far */
	bool is_verbose;
	bool is_late; /* a request came after this pass had read the rings */
};

static void request(struct aux_source *s, uint64_t nr)
{
	if (!nr || (s->snapshot.max && s->nr_taken >= s->snapshot.max))
		return;
	if (!s->nr_requests) {
		s->held_ns = os_clock_ns();
		rec_counters_hold_traces(s->counters, true);
	}
	s->nr_requests += nr;
}

static size_t most_bytes(const struct aux_area *a, size_t limit)
{
	size_t bytes = a->ring->ring.aux_bytes;

	return limit && limit < bytes ? limit : bytes;
}

/* The traces stand still for as long as memory takes, and not the disk. The first touch of memory
 * takes longest: not then. */
static void make_room(struct aux_source *s)
{
	size_t sum = 0;

	vec_for_each (&s->areas, a)
		sum += most_bytes(a, s->snapshot.bytes);
	s->copy = sum <= MAX_COPY_BYTES ? mem_alloc(sum) : NULL;
	if (s->copy)
		memset(s->copy, 0xff, sum);
}

static enum clew_err put_all(struct aux_source *s, struct rec_pass *p)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&s->areas, a)
		if (err == CLEW_OK)
			err = aux_area_put(a, p);
	return err;
}

/* All areas at one moment. Requests that came until then have nothing between them. */
static enum clew_err take_snapshot(struct aux_source *s, struct rec_pass *p)
{
	enum clew_err err = CLEW_OK;
	uint8_t *to = s->copy;
	uint64_t held_ns;

	vec_for_each (&s->areas, a) {
		size_t nr = aux_area_take(a, s->snapshot.bytes, to);

		to = to ? to + nr : NULL;
	}
	if (!s->copy)
		err = put_all(s, p);
	rec_counters_hold_traces(s->counters, false);
	held_ns = os_clock_ns() - s->held_ns;
	if (s->copy)
		err = put_all(s, p);
	s->nr_merged += s->nr_requests - 1;
	s->nr_requests = 0;
	s->nr_taken++;
	aux_report_snapshot(&s->areas, s->nr_taken, rec_counters_trace(s->counters) ? held_ns : 0,
			    s->ui, s->is_verbose);
	p->nr_snapshots++;
	p->has_any = true;
	return err;
}

static enum clew_err drain_all(struct aux_source *s, struct rec_pass *p)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&s->areas, a)
		if (err == CLEW_OK)
			err = aux_area_drain(a, s->counters, p);
	return err;
}

/* Those that happened since the last call. A count that could not be read comes again. */
static uint64_t new_triggers(struct aux_source *s)
{
	uint64_t nr = rec_counters_triggers(s->counters), before = s->nr_triggers;

	if (nr <= before)
		return 0;
	s->nr_triggers = nr;
	return nr - before;
}

static enum clew_err pass(void *ctx, struct rec_pass *p)
{
	struct aux_source *s = ctx;
	uint64_t nr;
	enum clew_err err = CLEW_OK;

	if (!s->nr_requests && !p->is_last)
		aux_cpus_check(&s->cpus);
	s->is_late = false;
	if (!s->snapshot.is_on)
		return drain_all(s, p);
	nr = new_triggers(s);
	if (s->nr_requests)
		err = take_snapshot(s, p);
	request(s, nr);
	s->is_late = nr != 0;
	return err == CLEW_OK && p->is_last && s->nr_requests ? take_snapshot(s, p) : err;
}

static int sleep_ms(const void *ctx)
{
	const struct aux_source *s = ctx;

	if (s->is_late)
		return 0;
	return s->snapshot.is_on ? -1 : DRAIN_MS;
}

static size_t order(void *ctx, const struct rec_order *o)
{
	struct aux_source *s = ctx;

	if (o->kind != REC_ORDER_SNAPSHOT || !s->snapshot.is_on)
		return 0;
	request(s, 1);
	return s->areas.nr;
}

/* All is switched off by then, and so it stays. */
static void stop(void *ctx)
{
	struct aux_source *s = ctx;

	if (s->snapshot.is_on && s->snapshot.at_end)
		request(s, 1);
}

/* Of the first trace: one kind of PMU in a recording. */
static enum clew_err put_info(const struct rec_counters *c, struct buf *records,
			      struct rec_error *error)
{
	vec_for_each (&c->list, e)
		if (e->aux && e->aux->is_described && !e->aux->is_soft)
			return rec_aux_info(c, e, records, error);
	return CLEW_OK;
}

static void begin_file(void *ctx, struct buf *records)
{
	const struct aux_source *s = ctx;

	buf_add(records, s->info.data, s->info.nr);
}

static void report(void *ctx, bool is_verbose)
{
	const struct aux_source *s = ctx;

	aux_report(&s->areas, s->ui, is_verbose);
	if (!s->snapshot.is_on)
		return;
	rec_say(s->ui, REC_NOTE, "%llu snapshots of the trace", (unsigned long long)s->nr_taken);
	if (s->nr_merged)
		rec_say(s->ui, REC_NOTE,
			"%llu requests merged: they came before the snapshot of an earlier one was "
			"taken, which holds all that was traced until then",
			(unsigned long long)s->nr_merged);
}

static void done(void *ctx)
{
	struct aux_source *s = ctx;

	vec_for_each (&s->areas, a)
		aux_area_done(a);
	vec_done(&s->areas);
	buf_done(&s->info);
	mem_free(s->copy);
	mem_free(s);
}

static bool add_areas(struct aux_source *s)
{
	struct rec_counters *c = s->counters;

	for (size_t i = 0; i < c->rings.nr; i++) {
		struct rec_ring *r = &c->rings.data[i];
		struct aux_area a;

		if (!r->ring.aux || (r->ring.is_aux_overwrite && !s->snapshot.is_on))
			continue; /* none, or one that samples are taken from */
		if (!aux_area_init(&a, r, (uint32_t)i))
			return false;
		if (!vec_push(&s->areas, a)) {
			aux_area_done(&a);
			return false;
		}
	}
	return true;
}

static bool has_area(const struct rec_counters *c)
{
	vec_for_each (&c->rings, r)
		if (r->ring.aux)
			return true;
	return false;
}

static enum clew_err new_source(struct rec_source *ret, struct rec_counters *c,
				const struct rec_options *o, const struct rec_ui *ui,
				bool may_reopen)
{
	static const struct rec_source_ops ops = {.sleep_ms = sleep_ms,
						  .begin_file = begin_file,
						  .order = order,
						  .pass = pass,
						  .stop = stop,
						  .report = report,
						  .done = done};
	struct aux_source *s;

	*ret = (struct rec_source){0};
	if (!has_area(c))
		return CLEW_OK;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return CLEW_NO_MEMORY;
	*s = (struct aux_source){
		.counters = c, .snapshot = o->snapshot, .ui = ui, .is_verbose = o->is_verbose};
	s->cpus = (struct aux_cpus){
		.counters = c, .areas = &s->areas, .ui = ui, .may_reopen = may_reopen};
	if (!add_areas(s)) {
		done(s);
		return CLEW_NO_MEMORY;
	}
	if (s->snapshot.is_on)
		make_room(s);
	*ret = (struct rec_source){.ops = &ops, .ctx = s};
	return CLEW_OK;
}

enum clew_err aux_source_new(struct rec_source *ret, struct rec_counters *c,
			     const struct rec_options *o, const struct rec_ui *ui)
{
	return new_source(ret, c, o, ui, false);
}

enum clew_err aux_source_open(struct rec_source *ret, struct rec_counters *c,
			      const struct rec_options *o, const struct rec_ui *ui, bool may_reopen,
			      struct rec_error *error)
{
	enum clew_err err = rec_aux_map(c, o, ui, error);
	struct buf info = {0};

	*ret = (struct rec_source){0};
	if (err == CLEW_OK) /* what cannot be described is not recorded */
		err = put_info(c, &info, error);
	if (err == CLEW_OK && (info.is_failed || new_source(ret, c, o, ui, may_reopen) != CLEW_OK))
		err = rec_fail_memory(error);
	if (err == CLEW_OK && ret->ops)
		((struct aux_source *)ret->ctx)->info = info;
	else
		buf_done(&info);
	return err;
}
