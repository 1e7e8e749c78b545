/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/drain.h"

#include "os/perf_event.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"
#include "record/aux/aux_drain.h"

void rec_drain_init(struct rec_drain *d, const struct rec_counters *c,
		    struct rec_build_ids *build_ids, bool with_build_ids)
{
	*d = (struct rec_drain){.build_ids = build_ids};
	d->mend = record_mend_of(c);
	d->reads_files = with_build_ids && d->mend.has_no_map_ids;
	/* The same place in all our events. */
	d->time_words = perf_time_pos_of(&c->list.data[0].attr).sample;
}

/* A record as one piece: in place, or put together where it crosses the ring's end. */
static const uint8_t *whole(struct rec_drain *d, const struct bytes part[2], size_t at, size_t size)
{
	size_t first = bytes_left(&part[0]);

	if (at >= first)
		return part[1].pos + (at - first);
	if (size <= first - at)
		return part[0].pos + at;
	buf_clear(&d->scratch);
	buf_add(&d->scratch, part[0].pos + at, first - at);
	buf_add(&d->scratch, part[1].pos, size - (first - at));
	return d->scratch.is_failed ? NULL : (const uint8_t *)d->scratch.data;
}

static void note_lost(struct rec_drain *d, const uint8_t *record, size_t size)
{
	enum { AT_LOST = 16 }; /* header, id */

	if (record && size >= AT_LOST + 8)
		d->lost += load_u64(record + AT_LOST, false);
}

static void note_mmap(struct rec_drain *d, const uint8_t *data, const struct perf_event_header *h)
{
	struct perf_record r = {.data = data, .type = h->type, .misc = h->misc, .size = h->size};
	struct perf_mmap m;

	if (!data || !d->build_ids || perf_mmap_parse(&r, &m) != CLEW_OK)
		return;
	if (m.has_build_id)
		rec_build_ids_add(d->build_ids, false, m.build_id, m.build_id_bytes, m.filename);
	else if (d->reads_files && !m.is_data && m.filename[0] == '/')
		rec_build_ids_add_mapped(d->build_ids, &m);
}

static void note_time(struct rec_drain *d, const struct bytes part[2], size_t at, size_t size)
{
	size_t offset = sizeof(struct perf_event_header) + 8 * (size_t)d->time_words;
	const uint8_t *record;
	uint64_t t;

	if (d->time_words < 0 || size < offset + 8)
		return;
	record = whole(d, part, at, size);
	if (!record)
		return;
	t = load_u64(record + offset, false);
	if (!d->first_ns || t < d->first_ns)
		d->first_ns = t;
	if (t > d->last_ns)
		d->last_ns = t;
}

static void count_mmap(struct rec_drain *d, const struct bytes part[2], size_t at,
		       struct perf_event_header *h)
{
	uint16_t misc = record_mend_misc(&d->mend, h);

	d->needs_mending |= misc != h->misc;
	h->misc = misc;
	if (d->reads_files || h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		note_mmap(d, whole(d, part, at, h->size), h);
}

static void look_for_grown(struct rec_drain *d, const struct bytes part[2], size_t at,
			   const struct perf_event_header *h)
{
	const uint8_t *record = whole(d, part, at, h->size);

	d->needs_mending |= record && record_mend_is_due(&d->mend, record);
}

/* What a reader has to know of before it meets samples. */
static bool is_state(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT ||
	       type == PERF_RECORD_NAMESPACES || type == PERF_RECORD_CGROUP ||
	       type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT;
}

static void note_state(struct rec_drain *d, const struct bytes part[2], size_t at,
		       const struct perf_event_header *h)
{
	const uint8_t *record = is_state(h->type) ? whole(d, part, at, h->size) : NULL;

	if (!record)
		return;
	buf_add(d->seen, record, h->size);
	if (!d->seen->is_failed)
		record_mend(&d->mend, (uint8_t *)d->seen->data + d->seen->nr - h->size);
}

/* Samples of one ring come in order of time: only a batch's first and last are looked into. */
void rec_drain_count(struct rec_drain *d, const struct bytes part[2])
{
	size_t first = bytes_left(&part[0]), total = first + bytes_left(&part[1]);
	size_t last_at = 0, last_size = 0;
	struct perf_event_header h;

	d->needs_mending = false;
	for (size_t at = 0; total - at >= sizeof(h); at += h.size) {
		const uint8_t *p = at < first ? part[0].pos + at : part[1].pos + (at - first);

		memcpy(&h, p, sizeof(h)); /* records are aligned: a header never crosses */
		if (h.size < sizeof(h) || h.size > total - at)
			break;
		if (h.type == PERF_RECORD_SAMPLE) {
			d->samples++;
			if (!last_size)
				note_time(d, part, at, h.size);
			last_at = at;
			last_size = h.size;
		} else if (h.type == PERF_RECORD_LOST) {
			note_lost(d, whole(d, part, at, h.size), h.size);
		} else if (h.type == PERF_RECORD_MMAP2) {
			count_mmap(d, part, at, &h);
		} else if (h.type == PERF_RECORD_KSYMBOL || h.type == PERF_RECORD_BPF_EVENT) {
			look_for_grown(d, part, at, &h);
		}
		if (d->seen)
			note_state(d, part, at, &h);
	}
	if (last_size)
		note_time(d, part, last_at, last_size);
}

/* The span as one piece, in our memory, with true bits and whole records. */
static bool mend(struct rec_drain *d, struct bytes part[2])
{
	struct perf_event_header h;

	buf_clear(&d->mended);
	for (int i = 0; i < 2; i++)
		buf_add(&d->mended, part[i].pos, bytes_left(&part[i]));
	if (d->mended.is_failed)
		return false;
	part[0] = bytes_of(d->mended.data, d->mended.nr);
	part[1] = (struct bytes){0};
	for (size_t at = 0; d->mended.nr - at >= sizeof(h); at += h.size) {
		memcpy(&h, d->mended.data + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > d->mended.nr - at)
			break;
		record_mend(&d->mend, (uint8_t *)d->mended.data + at);
	}
	return true;
}

/* After they were counted. */
static enum clew_err write_parts(struct rec_drain *d, struct rec_file *f, struct bytes part[2])
{
	enum clew_err err = d->needs_mending && !mend(d, part) ? CLEW_NO_MEMORY : CLEW_OK;

	for (int i = 0; i < 2 && err == CLEW_OK; i++)
		if (bytes_left(&part[i]))
			err = perf_writer_records(f->writer, part[i].pos, bytes_left(&part[i]));
	return err;
}

static enum clew_err drain_forward(struct rec_drain *d, struct rec_ring *r, struct rec_file *f,
				   bool *ret_any)
{
	struct bytes part[2];
	size_t size = os_ring_peek(&r->ring, part);
	enum clew_err err;

	if (!size)
		return CLEW_OK;
	*ret_any = true;
	rec_drain_count(d, part);
	err = write_parts(d, f, part);
	os_ring_consume(&r->ring, size);
	return err;
}

/* After the data ring: an AUX record tells of bytes that must then be in the file, or follow. */
static enum clew_err drain_aux(struct rec_drain *d, const struct rec_counters *c,
			       struct rec_ring *r, uint32_t idx, struct rec_file *f, bool *ret_any)
{
	const struct rec_aux_place place = {idx, (uint32_t)r->tid, (uint32_t)r->cpu};
	uint64_t before = d->aux_bytes;
	enum clew_err err;

	if (!r->ring.aux)
		return CLEW_OK;
	err = rec_aux_drain(&r->ring, &place, f->writer, &d->aux_bytes);
	if (d->aux_bytes == before)
		return err;
	*ret_any = true;
	/* The kernel switches an event off whose area is full; there is room again. */
	if (c->is_on)
		os_perf_enable(r->fd);
	return err;
}

static enum clew_err drain_backward(struct rec_drain *d, struct rec_ring *r, struct rec_file *f,
				    bool *ret_any)
{
	struct bytes part[2];
	enum clew_err err;

	os_perf_pause_output(r->fd, 1);
	*ret_any |= os_ring_backward(&r->ring, part) != 0;
	rec_drain_count(d, part);
	err = write_parts(d, f, part);
	os_ring_backward_done(&r->ring);
	os_perf_pause_output(r->fd, 0);
	return err;
}

static void count_span(void *ctx, const struct bytes part[2])
{
	rec_drain_count(ctx, part);
}

enum clew_err rec_drain_pass(struct rec_drain *d, const struct rec_counters *c, struct rec_file *f,
			     bool with_backward)
{
	static const struct perf_event_header round = {.type = PERF_RECORD_FINISHED_ROUND,
						       .size = sizeof(round)};
	bool any = false, is_rewritten = d->stacks && d->stacks->is_on;
	enum clew_err err =
		is_rewritten ? user_stacks_pass(d->stacks, f, count_span, d, &any) : CLEW_OK;

	for (size_t i = 0; i < c->rings.nr && err == CLEW_OK; i++) {
		struct rec_ring *r = &c->rings.data[i];

		if (!r->is_backward && !is_rewritten)
			err = drain_forward(d, r, f, &any);
		else if (r->is_backward && with_backward)
			err = drain_backward(d, r, f, &any);
		if (err == CLEW_OK)
			err = drain_aux(d, c, r, (uint32_t)i, f, &any);
	}
	if (err == CLEW_OK && any && (!is_rewritten || user_stacks_may_end_round(d->stacks)))
		err = perf_writer_plain(f->writer, &round, sizeof(round));
	return err == CLEW_OK && any ? rec_file_flush(f) : err;
}

void rec_drain_done(struct rec_drain *d)
{
	buf_done(&d->scratch);
	buf_done(&d->mended);
}
