/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/ring_source.h"

#include "base/mem.h"
#include "os/perf/perf_event.h"
#include "perfdata/perf_record.h"
#include "perfdata/record_put.h"
#include "record/open/record_mend.h"

struct ring_source {
	struct rec_counters *counters;
	bool is_read; /* forward rings, by another source */
	struct record_mend mend;
	struct perf_field_pos id_pos, time_pos; /* the same in all events */
	struct buf mended; /* a span with records that are not as they should be */
};

static const struct rec_counter *tracker(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (e->is_tracking)
			return e;
	return c->list.data;
}

static uint64_t time_of(const struct ring_source *s, const struct bytes *record)
{
	struct perf_event_header h;
	size_t at;

	if (bytes_left(record) < sizeof(h))
		return 0;
	memcpy(&h, record->pos, sizeof(h));
	at = h.type == PERF_RECORD_SAMPLE ? sizeof(h) + 8 * (size_t)s->time_pos.sample
					  : h.size - 8 * (size_t)s->time_pos.trailer;
	if (s->time_pos.sample < 0 || s->time_pos.trailer < 0 || at < sizeof(h) ||
	    at + 8 > bytes_left(record))
		return 0;
	return load_u64(record->pos + at, false);
}

/* What happened on the CPU until its new events began is unknown, up to the first record. */
static void put_lost(struct ring_source *s, struct rec_ring *r, const struct bytes *first)
{
	const struct rec_counter *e = tracker(s->counters);
	const struct perf_sample_id id = {
		.time = time_of(s, first), .id = e->ids[r->place], .cpu = (uint32_t)r->cpu};
	size_t at;

	r->again.has_unknown = false;
	if (!id.time)
		return;
	at = perf_record_begin(&s->mended, PERF_RECORD_LOST, 0);
	buf_u64(&s->mended, id.id);
	buf_u64(&s->mended, 0); /* how many is unknown */
	perf_sample_id_put(&s->mended, &e->attr, &id);
	perf_record_end(&s->mended, at);
}

/* The span as one piece, in our memory, with true bits and whole records. */
static bool mend(struct ring_source *s, struct rec_ring *r, struct bytes part[2])
{
	struct perf_event_header h;
	size_t begin;

	buf_clear(&s->mended);
	if (r->again.has_unknown)
		put_lost(s, r, &part[0]);
	begin = s->mended.nr;
	for (int i = 0; i < 2; i++)
		buf_add(&s->mended, part[i].pos, bytes_left(&part[i]));
	if (s->mended.is_failed)
		return false;
	part[0] = bytes_of(s->mended.data, s->mended.nr);
	part[1] = (struct bytes){0};
	for (size_t at = begin; s->mended.nr - at >= sizeof(h); at += h.size) {
		memcpy(&h, s->mended.data + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > s->mended.nr - at)
			break;
		record_mend(&s->mend, (uint8_t *)s->mended.data + at);
		if (ring_again_is(&r->again))
			ring_again_mend(&r->again, s->id_pos, (uint8_t *)s->mended.data + at);
	}
	return true;
}

static enum clew_err write_span(struct ring_source *s, struct rec_ring *r, struct bytes part[2],
				struct rec_pass *p)
{
	bool is_wrong = p->count(p->ctx, &r->aux_seen, part) || ring_again_is(&r->again);
	enum clew_err err = is_wrong && !mend(s, r, part) ? CLEW_NO_MEMORY : CLEW_OK;

	for (int i = 0; i < 2 && err == CLEW_OK; i++)
		if (bytes_left(&part[i]))
			err = perf_writer_records(p->file->writer, part[i].pos,
						  bytes_left(&part[i]));
	return err;
}

static enum clew_err read_forward(struct ring_source *s, struct rec_ring *r, struct rec_pass *p)
{
	struct bytes part[2];
	size_t size = os_ring_peek(&r->ring, part);
	enum clew_err err;

	if (!size)
		return CLEW_OK;
	p->has_any = true;
	err = write_span(s, r, part, p);
	os_ring_consume(&r->ring, size);
	return err;
}

static enum clew_err read_backward(struct ring_source *s, struct rec_ring *r, struct rec_pass *p)
{
	struct bytes part[2];
	enum clew_err err;

	os_perf_pause_output(r->fd, 1);
	p->has_any |= os_ring_backward(&r->ring, part) != 0;
	err = write_span(s, r, part, p);
	os_ring_backward_done(&r->ring);
	os_perf_pause_output(r->fd, 0);
	return err;
}

static enum clew_err pass(void *ctx, struct rec_pass *p)
{
	struct ring_source *s = ctx;
	enum clew_err err = CLEW_OK;

	if (s->is_read && !s->counters->has_backward)
		return CLEW_OK;
	for (size_t i = 0; i < s->counters->rings.nr && err == CLEW_OK; i++) {
		struct rec_ring *r = &s->counters->rings.data[i];

		if (!r->ring.page)
			continue; /* its CPU could not be opened again */
		if (!r->is_backward && !s->is_read)
			err = read_forward(s, r, p);
		else if (r->is_backward && p->is_last)
			err = read_backward(s, r, p);
	}
	return err;
}

static enum clew_err add_events(void *ctx, struct perf_evlist *l)
{
	const struct ring_source *s = ctx;

	return rec_counters_evlist(s->counters, l);
}

/* Spec: tools/lib/perf/include/perf/event.h, struct perf_record_time_conv. */
static void begin_file(void *ctx, struct buf *records)
{
	const struct ring_source *s = ctx;
	struct os_ring_clock clock;
	struct {
		struct perf_event_header header;
		uint64_t shift, mult, zero, cycles, mask;
		uint8_t is_zero_known, is_short, reserved[6];
	} conv = {
		.header = {.type = PERF_RECORD_TIME_CONV, .size = sizeof(conv)}
        };

	if (!s->counters->rings.nr || !s->counters->rings.data[0].ring.page ||
	    !os_ring_clock(&s->counters->rings.data[0].ring, &clock))
		return;
	conv.shift = clock.shift;
	conv.mult = clock.mult;
	conv.zero = clock.zero;
	conv.cycles = clock.cycles;
	conv.mask = clock.mask;
	conv.is_zero_known = 1;
	conv.is_short = clock.is_short;
	buf_add(records, &conv, sizeof(conv));
}

/* The events of a command start by themselves, with its exec. */
static enum clew_err start(void *ctx, const struct rec_start *start, struct rec_error *error)
{
	struct ring_source *s = ctx;
	const struct rec_target *t = s->counters->target;

	(void)error;
	if (!start->is_delayed && (t->is_system_wide || t->is_attached))
		rec_counters_switch(s->counters, NULL, true);
	return CLEW_OK;
}

static size_t order(void *ctx, const struct rec_order *o)
{
	struct ring_source *s = ctx;

	if (o->kind == REC_ORDER_SNAPSHOT)
		return 0;
	return rec_counters_switch(s->counters, o->event, o->kind == REC_ORDER_ENABLE);
}

static bool watch(void *ctx, struct os_poll *p)
{
	struct ring_source *s = ctx;

	vec_for_each (&s->counters->rings, r) {
		if (r->is_backward)
			continue; /* never wakes anyone */
		r->poll = os_poll_add(p, r->fd);
		if (r->poll < 0)
			return false;
	}
	return true;
}

/* The event that owns a ring is gone with its task; others may still write there: wait on one of
 * them instead. */
static void watch_next_owner(const struct rec_counters *c, struct rec_ring *r, struct os_poll *p)
{
	size_t total = c->list.nr * (r->to - r->from);

	for (; r->next_owner < total; r->next_owner++) {
		size_t place = r->from + r->next_owner / c->list.nr;
		const struct rec_counter *e = &c->list.data[r->next_owner % c->list.nr];

		if (e->fds[place] < 0 || e->attr.flags & PERF_ATTR_WRITE_BACKWARD)
			continue;
		p->data[r->poll].fd = e->fds[place];
		r->next_owner++;
		return;
	}
	p->data[r->poll].fd = -1;
}

static void unwatch(void *ctx, struct os_poll *p)
{
	struct ring_source *s = ctx;

	vec_for_each (&s->counters->rings, r) {
		if (r->is_backward)
			continue;
		if (r->again.is_unwatched)
			p->data[r->poll].fd = r->fd;
		else if (os_poll_is_ended(p, r->poll))
			watch_next_owner(s->counters, r, p);
		r->again.is_unwatched = false;
	}
}

static void done(void *ctx)
{
	struct ring_source *s = ctx;

	buf_done(&s->mended);
	mem_free(s);
}

struct rec_source ring_source_new(struct rec_counters *c, bool is_read)
{
	static const struct rec_source_ops ops = {.watch = watch,
						  .unwatch = unwatch,
						  .add_events = add_events,
						  .begin_file = begin_file,
						  .start = start,
						  .order = order,
						  .pass = pass,
						  .done = done};
	struct ring_source *s = mem_alloc(sizeof(*s));

	if (!s)
		return (struct rec_source){0};
	*s = (struct ring_source){.counters = c,
				  .is_read = is_read,
				  .mend = record_mend_of(c),
				  .id_pos = perf_id_pos_of(&c->list.data[0].attr),
				  .time_pos = perf_time_pos_of(&c->list.data[0].attr)};
	return (struct rec_source){.ops = &ops, .ctx = s};
}
