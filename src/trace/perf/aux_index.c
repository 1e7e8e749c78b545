/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_index.h"

#include "trace/perf/perf_trace_impl.h"

/* Places are farther apart in real trace (2 KiB and more): this bounds memory. */
enum { MIN_DISTANCE = 256 };

void aux_index_done(struct aux_index *x)
{
	vec_for_each (x, ring)
		vec_done(&ring->places);
	vec_done(x);
}

static const struct aux_units *units_of(const struct perf_trace *p, uint32_t ring)
{
	uint32_t unit = p->chunks.rings.data[ring].unit;

	return unit == AUX_NONE ? NULL : perf_trace_units_of(p, unit);
}

static bool scan_buffer(struct aux_index_ring *ring, const struct aux_units *u,
			const struct aux_buffer *b)
{
	struct bytes in = bytes_of(b->data, (size_t)b->bytes);
	uint64_t after =
		ring->places.nr ? ring->places.data[ring->places.nr - 1].offset + MIN_DISTANCE : 0;
	uint64_t from = after > b->offset ? after - b->offset : 0;
	struct aux_found f;

	if (b->bytes > UINT64_MAX - MIN_DISTANCE - b->offset)
		return true; /* no ring is that long */
	while (from < b->bytes && u->protocol->find_sync(u->units, in, (size_t)from, &f)) {
		struct aux_sync s = {b->offset + f.at, f.stamp, f.has};

		if (!vec_push(&ring->places, s))
			return false;
		from = f.at + MIN_DISTANCE;
	}
	return true;
}

enum clew_err aux_index_scan(struct aux_index *x, const struct perf_trace *p)
{
	vec_for_each (&p->chunks.rings, r) {
		struct aux_index_ring ring = {.cpu = r->cpu, .tid = r->tid};

		if (!vec_push(x, ring))
			return CLEW_NO_MEMORY;
	}
	vec_for_each (&p->chunks.buffers, b) {
		const struct aux_units *u = units_of(p, b->ring);

		if (u && u->protocol->find_sync && !scan_buffer(&x->data[b->ring], u, b))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

bool aux_index_is_true(const struct perf_trace *p, uint32_t ring, const struct aux_sync *s)
{
	const struct aux_units *u = units_of(p, ring);
	uint32_t at = aux_chunks_buffer_at(&p->chunks, ring, s->offset);
	const struct aux_buffer *b;
	struct aux_found f;
	uint64_t skip;

	if (!u || !u->protocol->find_sync || at == AUX_NONE)
		return false;
	b = &p->chunks.buffers.data[at];
	if (b->offset > s->offset)
		return false;
	skip = s->offset - b->offset;
	return u->protocol->find_sync(u->units, bytes_of(b->data + skip, (size_t)(b->bytes - skip)),
				      0, &f) &&
	       !f.at && f.stamp == s->stamp && f.has == s->has;
}
