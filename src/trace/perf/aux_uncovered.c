/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "trace/perf/aux_chunks.h"

/* Where the ring of records overflowed, the AUX records of some trace are lost. What none describes
 * is trace too, of a protocol that finds its own start in it: one more chunk for each stretch,
 * which ran at an unknown time. */

/** Bytes that a record describes; also of an earlier stretch. */
struct stretch {
	uint64_t offset, end;
	struct clew_perf_ns time;
	uint32_t ring;
};

struct stretches {
	VEC(struct stretch);
};

static int by_place(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool collect(const struct aux_chunks *q, struct stretches *ret)
{
	vec_for_each (&q->all, c) {
		struct stretch s = {c->offset, c->offset + c->bytes, c->time, c->ring};

		if (c->ring != AUX_NONE && c->bytes && !vec_push(ret, s))
			return false;
	}
	if (ret->nr)
		qsort(ret->data, ret->nr, sizeof(*ret->data), by_place);
	return true;
}

static bool add(struct aux_chunks *q, uint32_t buffer, const struct stretch *s)
{
	const struct aux_ring *ring = &q->rings.data[s->ring];
	struct aux_chunk *last = q->all.nr ? &q->all.data[q->all.nr - 1] : NULL;
	struct aux_chunk c = {.time = s->time,
			      .offset = s->offset,
			      .bytes = s->end - s->offset,
			      .at = q->buffers.data[buffer].at,
			      .ring = s->ring,
			      .buffer = buffer,
			      .cpu = ring->cpu,
			      .tid = ring->tid,
			      .order = (uint32_t)q->all.nr,
			      .protocol = (uint8_t)ring->protocol,
			      .owner = {-1},
			      .is_uncovered = true};

	/* A recorder copies when it likes: a record may continue in the next buffer. */
	if (last && last->is_uncovered && last->ring == c.ring &&
	    last->offset + last->bytes == c.offset) {
		last->bytes += c.bytes;
		return true;
	}
	return q->all.nr >= AUX_MAX_CHUNKS || vec_push(&q->all, c);
}

/** What of a buffer no stretch from *@p at on covers. */
static bool add_of_buffer(struct aux_chunks *q, const struct stretches *s, uint32_t buffer,
			  size_t *at)
{
	const struct aux_buffer *b = &q->buffers.data[buffer];
	struct stretch gap = {.offset = b->offset, .ring = b->ring};
	uint64_t end = b->bytes <= UINT64_MAX - b->offset ? b->offset + b->bytes : UINT64_MAX;

	for (; *at < s->nr && s->data[*at].ring <= b->ring; ++*at) {
		const struct stretch *c = &s->data[*at];

		if (c->ring < b->ring)
			continue;
		if (c->offset >= end)
			break;
		gap.end = c->offset;
		if (c->offset > gap.offset && !add(q, buffer, &gap))
			return false;
		if (c->end > gap.offset)
			gap.offset = c->end;
		gap.time = c->time;
		if (c->end >= end)
			break; /* the next buffer may begin in it */
	}
	gap.end = end;
	return gap.offset >= end || add(q, buffer, &gap);
}

enum clew_err aux_chunks_add_uncovered(struct aux_chunks *q, uint32_t protocols)
{
	struct stretches s = {0};
	bool ok = collect(q, &s);
	size_t at = 0;

	for (uint32_t i = 0; ok && i < q->buffers.nr; i++) {
		uint32_t ring = q->buffers.data[i].ring;

		if (protocols >> q->rings.data[ring].protocol & 1)
			ok = add_of_buffer(q, &s, i, &at);
	}
	vec_done(&s);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}
