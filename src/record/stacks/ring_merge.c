/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/ring_merge.h"

enum { GIVE_BACK_BYTES = 64 * 1024 };

bool ring_merge_init(struct ring_merge *m, const struct rec_counters *c)
{
	*m = (struct ring_merge){.counters = c};
	m->mend = record_mend_of(c);
	m->id_pos = perf_id_pos_of(&c->list.data[0].attr);
	for (size_t i = 0; i < c->list.nr; i++) {
		const struct rec_counter *e = &c->list.data[i];

		if (!vec_push(&m->time_pos, perf_time_pos_of(&e->attr)))
			return false;
		for (size_t place = 0; place < c->nr_places; place++)
			if (e->fds[place] >= 0 && !map_u64_put(&m->event_of_id, e->ids[place], i))
				return false;
	}
	return true;
}

/* Records are aligned to words, and so is the ring's end: a word never crosses it. */
static const uint8_t *at_offset(const struct ring_span *s, size_t offset)
{
	size_t first = bytes_left(&s->part[0]);

	return offset < first ? s->part[0].pos + offset : s->part[1].pos + (offset - first);
}

static bool header_at(const struct ring_span *s, struct perf_event_header *h)
{
	if (s->total - s->at < sizeof(*h))
		return false;
	memcpy(h, at_offset(s, s->at), sizeof(*h));
	return h->size >= sizeof(*h) && h->size <= s->total - s->at && h->size % 8 == 0;
}

/* The word @words from the front (after the header), or @words back from the end. */
static bool word_of(const struct ring_span *s, const struct perf_event_header *h, int words,
		    bool is_from_end, uint64_t *ret)
{
	size_t offset = is_from_end ? h->size - 8 * (size_t)words : sizeof(*h) + 8 * (size_t)words;

	if (words < 0 || 8 * (size_t)words > h->size - sizeof(*h) || offset + 8 > h->size)
		return false;
	*ret = load_u64(at_offset(s, s->at + offset), false);
	return true;
}

static uint32_t event_at(const struct ring_merge *m, const struct ring_span *s,
			 const struct perf_event_header *h)
{
	bool is_sample = h->type == PERF_RECORD_SAMPLE;
	const uint64_t *event;
	uint64_t id;

	if (m->counters->list.nr < 2 ||
	    !word_of(s, h, is_sample ? m->id_pos.sample : m->id_pos.trailer, !is_sample, &id))
		return 0;
	event = map_u64_get(&m->event_of_id, id);
	return event ? (uint32_t)*event : 0;
}

static uint64_t time_at(const struct ring_merge *m, const struct ring_span *s,
			const struct perf_event_header *h)
{
	const struct perf_field_pos *pos = &m->time_pos.data[event_at(m, s, h)];
	bool is_sample = h->type == PERF_RECORD_SAMPLE;
	uint64_t time = 0;

	/* Where the time of these two stands, another recorder may have moved. */
	if (h->type == PERF_RECORD_KSYMBOL || h->type == PERF_RECORD_BPF_EVENT)
		return 0;
	word_of(s, h, is_sample ? pos->sample : pos->trailer, !is_sample, &time);
	return time;
}

static bool is_before(const struct ring_merge *m, uint32_t a, uint32_t b)
{
	uint64_t x = m->spans.data[a].time, y = m->spans.data[b].time;

	return x < y || (x == y && a < b);
}

static void sift_down(struct ring_merge *m, size_t at)
{
	uint32_t *h = m->heap.data;

	for (;;) {
		size_t low = at, left = 2 * at + 1;
		uint32_t swap;

		if (left < m->heap.nr && is_before(m, h[left], h[low]))
			low = left;
		if (left + 1 < m->heap.nr && is_before(m, h[left + 1], h[low]))
			low = left + 1;
		if (low == at)
			return;
		swap = h[at];
		h[at] = h[low];
		h[low] = swap;
		at = low;
	}
}

/* Go to the record at s->at. @return false: there is none. */
static bool enter(struct ring_merge *m, struct ring_span *s)
{
	struct perf_event_header h;
	uint64_t time;

	if (!header_at(s, &h)) {
		s->at = s->total;
		return false;
	}
	time = time_at(m, s, &h);
	if (time > s->time) /* never back: a record without a time stays with its neighbours */
		s->time = time;
	return true;
}

static bool note(struct ring_merge *m, struct rec_ring *r)
{
	struct ring_span s = {.ring = r};

	if (r->is_backward)
		return true;
	s.total = os_ring_peek(&r->ring, s.part);
	if (!s.total)
		return true;
	return vec_push(&m->spans, s);
}

bool ring_merge_note(struct ring_merge *m, struct rec_counters *c)
{
	m->spans.nr = m->heap.nr = 0;
	vec_for_each (&c->rings, r)
		if (!note(m, r))
			return false;
	if (!vec_reserve(&m->heap, m->spans.nr))
		return false;
	for (size_t i = 0; i < m->spans.nr; i++) {
		if (enter(m, &m->spans.data[i]))
			m->heap.data[m->heap.nr++] = (uint32_t)i;
		else
			os_ring_consume(&m->spans.data[i].ring->ring, m->spans.data[i].total);
	}
	for (size_t i = m->heap.nr / 2; i-- > 0;)
		sift_down(m, i);
	return true;
}

static const uint8_t *whole(struct ring_merge *m, const struct ring_span *s, size_t size)
{
	size_t first = bytes_left(&s->part[0]);

	if (s->at >= first || size <= first - s->at)
		return at_offset(s, s->at);
	buf_clear(&m->scratch);
	buf_add(&m->scratch, s->part[0].pos + s->at, first - s->at);
	buf_add(&m->scratch, s->part[1].pos, size - (first - s->at));
	return m->scratch.is_failed ? NULL : (const uint8_t *)m->scratch.data;
}

/* The ring is not ours to write. */
static const uint8_t *mended(struct ring_merge *m, struct ring_record *r)
{
	if (!r->data || !record_mend_is_due(&m->mend, r->data))
		return r->data;
	r->header.misc = record_mend_misc(&m->mend, &r->header);
	if (r->data != (const uint8_t *)m->scratch.data) {
		buf_clear(&m->scratch);
		buf_add(&m->scratch, r->data, r->header.size);
	}
	if (m->scratch.is_failed)
		return NULL;
	record_mend(&m->mend, (uint8_t *)m->scratch.data);
	return (const uint8_t *)m->scratch.data;
}

static void give_back(struct ring_span *s)
{
	size_t n = s->at - s->given;

	if (n < GIVE_BACK_BYTES && s->at < s->total)
		return;
	os_ring_consume(&s->ring->ring, n);
	s->given = s->at;
}

/* Past the record that was given last, which is the heap's first. */
static void step(struct ring_merge *m)
{
	struct ring_span *s = &m->spans.data[m->heap.data[0]];
	struct perf_event_header h;

	if (header_at(s, &h))
		s->at += h.size;
	if (!enter(m, s))
		m->heap.data[0] = m->heap.data[--m->heap.nr];
	give_back(s);
	sift_down(m, 0);
}

enum clew_err ring_merge_next(struct ring_merge *m, struct ring_record *ret)
{
	struct ring_span *s;

	if (m->is_given)
		step(m);
	m->is_given = m->heap.nr;
	if (!m->heap.nr)
		return CLEW_END;
	s = &m->spans.data[m->heap.data[0]];
	*ret = (struct ring_record){.time = s->time, .cpu = s->ring->cpu};
	header_at(s, &ret->header);
	ret->event = event_at(m, s, &ret->header);
	ret->data = whole(m, s, ret->header.size);
	ret->data = mended(m, ret);
	return ret->data ? CLEW_OK : CLEW_NO_MEMORY;
}

void ring_merge_done(struct ring_merge *m)
{
	vec_done(&m->spans);
	vec_done(&m->heap);
	map_u64_done(&m->event_of_id);
	vec_done(&m->time_pos);
	buf_done(&m->scratch);
}
