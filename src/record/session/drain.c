/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/drain.h"

#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"

void rec_drain_init(struct rec_drain *d, const struct rec_counters *c,
		    const struct rec_sources *sources, struct rec_build_ids *build_ids,
		    bool with_build_ids)
{
	*d = (struct rec_drain){.sources = sources, .build_ids = build_ids};
	d->mend = record_mend_of(c);
	d->reads_files = with_build_ids && d->mend.has_no_map_ids;
	/* The same place in all our events. */
	d->time_words = perf_time_pos_of(&c->list.data[0].attr).sample;
	d->trailer_words = perf_time_pos_of(&c->list.data[0].attr).trailer;
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

/* The time in the trailer; 0: it has none. */
static uint64_t trailer_time(const struct rec_drain *d, const uint8_t *data, size_t size)
{
	size_t back = 8 * (size_t)d->trailer_words;

	return d->trailer_words > 0 && back + 32 <= size ? load_u64(data + size - back, false) : 0;
}

static void note_made_code(struct rec_drain *d, const uint8_t *data,
			   const struct perf_event_header *h)
{
	struct perf_record r = {.data = data, .type = h->type, .misc = h->misc, .size = h->size};
	struct perf_mmap m;

	if (data && perf_mmap_parse(&r, &m) == CLEW_OK)
		rec_perf_maps_take(d->perf_maps, &m, trailer_time(d, data, h->size));
}

/* A program's end: it exits, or executes another. */
static void note_end(struct rec_drain *d, const uint8_t *data, const struct perf_event_header *h)
{
	struct perf_record r = {.data = data, .type = h->type, .misc = h->misc, .size = h->size};
	struct perf_comm c;
	struct perf_task t;

	if (!data)
		return;
	if (h->type == PERF_RECORD_EXIT && perf_task_parse(&r, &t) == CLEW_OK && t.pid == t.tid)
		rec_perf_maps_end(d->perf_maps, t.pid, t.time);
	else if (h->type == PERF_RECORD_COMM && perf_comm_parse(&r, &c) == CLEW_OK && c.is_exec)
		rec_perf_maps_end(d->perf_maps, c.pid, trailer_time(d, data, h->size));
}

static bool ends_program(const struct rec_drain *d, const struct perf_event_header *h)
{
	return d->perf_maps && d->perf_maps->all.nr &&
	       (h->type == PERF_RECORD_EXIT ||
		(h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC));
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

/* @return its bits must be mended. */
static bool count_mmap(struct rec_drain *d, const struct bytes part[2], size_t at,
		       struct perf_event_header *h)
{
	uint16_t misc = record_mend_misc(&d->mend, h);
	bool is_wrong = misc != h->misc;

	h->misc = misc;
	if (d->reads_files || h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		note_mmap(d, whole(d, part, at, h->size), h);
	if (d->perf_maps)
		note_made_code(d, whole(d, part, at, h->size), h);
	return is_wrong;
}

static bool has_grown(struct rec_drain *d, const struct bytes part[2], size_t at,
		      const struct perf_event_header *h)
{
	const uint8_t *record = whole(d, part, at, h->size);

	return record && record_mend_is_due(&d->mend, record);
}

static void add_gap(struct rec_aux_seen *aux, bool is_truncated, uint64_t time)
{
	if (aux->truncated_ns && time > aux->truncated_ns)
		aux->gap_ns += time - aux->truncated_ns;
	aux->truncated_ns = is_truncated ? time : 0;
	if (is_truncated && !aux->first_gap_ns)
		aux->first_gap_ns = time;
}

static void note_aux(const struct rec_drain *d, struct rec_aux_seen *aux, const uint8_t *data,
		     const struct perf_event_header *h)
{
	const uint64_t known = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_OVERWRITE |
			       PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION |
			       PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;
	struct perf_record r = {.data = data, .type = h->type, .misc = h->misc, .size = h->size};
	uint64_t time;
	struct perf_aux a;

	if (!data || perf_aux_parse(&r, &a) != CLEW_OK)
		return;
	time = trailer_time(d, data, h->size);
	aux->last[aux->nr++ % REC_AUX_SEEN_KEPT] = (struct rec_aux_mark){a.offset, a.size, time};
	aux->bytes += a.size;
	aux->nr_truncated += (a.flags & PERF_AUX_FLAG_TRUNCATED) != 0;
	aux->nr_partial += (a.flags & PERF_AUX_FLAG_PARTIAL) != 0;
	aux->nr_collision += (a.flags & PERF_AUX_FLAG_COLLISION) != 0;
	aux->nr_overwrite += (a.flags & PERF_AUX_FLAG_OVERWRITE) != 0;
	aux->nr_unknown += (a.flags & ~known) != 0;
	if (time)
		add_gap(aux, a.flags & PERF_AUX_FLAG_TRUNCATED, time);
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
bool rec_drain_count(struct rec_drain *d, struct rec_aux_seen *aux, const struct bytes part[2])
{
	size_t first = bytes_left(&part[0]), total = first + bytes_left(&part[1]);
	size_t last_at = 0, last_size = 0;
	struct perf_event_header h;
	bool needs_mending = false;

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
			if (aux)
				aux->nr_lost++;
		} else if (h.type == PERF_RECORD_AUX && aux) {
			note_aux(d, aux, whole(d, part, at, h.size), &h);
		} else if (h.type == PERF_RECORD_MMAP2) {
			needs_mending |= count_mmap(d, part, at, &h);
		} else if (h.type == PERF_RECORD_KSYMBOL || h.type == PERF_RECORD_BPF_EVENT) {
			needs_mending |= has_grown(d, part, at, &h);
		} else if (ends_program(d, &h)) {
			note_end(d, whole(d, part, at, h.size), &h);
		}
		if (d->seen)
			note_state(d, part, at, &h);
	}
	if (last_size)
		note_time(d, part, last_at, last_size);
	return needs_mending;
}

static bool count_span(void *ctx, struct rec_aux_seen *aux, const struct bytes part[2])
{
	return rec_drain_count(ctx, aux, part);
}

enum clew_err rec_drain_pass(struct rec_drain *d, struct rec_file *f, bool is_last)
{
	static const struct perf_event_header round = {.type = PERF_RECORD_FINISHED_ROUND,
						       .size = sizeof(round)};
	struct rec_pass pass = {.file = f, .is_last = is_last, .count = count_span, .ctx = d};
	enum clew_err err = rec_sources_pass(d->sources, &pass);

	d->nr_snapshots += pass.nr_snapshots;
	if (d->perf_maps)
		rec_perf_maps_retry(d->perf_maps);
	if (err != CLEW_OK || !pass.has_any)
		return err;
	if (rec_sources_may_end_round(d->sources))
		err = perf_writer_plain(f->writer, &round, sizeof(round));
	return err == CLEW_OK ? rec_file_flush(f) : err;
}

void rec_drain_done(struct rec_drain *d)
{
	buf_done(&d->scratch);
}
