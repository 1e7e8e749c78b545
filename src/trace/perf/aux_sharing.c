/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_sharing.h"

#include "trace/perf/aux_streams.h"
#include "trace/perf/perf_trace_impl.h"

enum { MAX_STREAMS = 1024 /* more: one that has all */ };

struct sharing {
	const struct trace_steps *all;
	uint32_t *parent;  /* of each ring, up to the first of its stream */
	uint32_t *ring_of; /* of each unit, the first ring that held trace of it */
	bool is_whole;     /* no trace was omitted: what was not looked at may be shared too */
};

static uint32_t first_ring(const struct sharing *s, uint32_t ring)
{
	while (s->parent[ring] != ring) {
		s->parent[ring] = s->parent[s->parent[ring]];
		ring = s->parent[ring];
	}
	return ring;
}

static enum clew_err note_sharing(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	struct sharing *s = ctx;
	uint32_t ring = s->all->streams[0].chunk->ring, a, b;

	(void)in, (void)offset;
	if (ring == AUX_NONE)
		return CLEW_OK;
	if (s->ring_of[unit] == AUX_NONE)
		s->ring_of[unit] = ring;
	a = first_ring(s, s->ring_of[unit]);
	b = first_ring(s, ring);
	s->parent[a < b ? b : a] = a < b ? a : b;
	return CLEW_OK;
}

static enum clew_err note_nothing(void *ctx, size_t unit, uint64_t offset)
{
	(void)ctx, (void)unit, (void)offset;
	return CLEW_OK;
}

static enum clew_err pass(struct perf_trace *p, struct sharing *s)
{
	const struct trace_sink sink = {.bytes = note_sharing, .restart = note_nothing, .ctx = s};
	struct trace_steps *all = aux_streams_new_single(&p->trace, &sink);
	enum clew_err err = all ? CLEW_OK : CLEW_NO_MEMORY;

	s->all = all;
	while (!err)
		err = aux_streams_step(all, 0);
	s->is_whole = all && !all->is_spent;
	aux_streams_free(all);
	return err == CLEW_END ? CLEW_OK : err;
}

/** Number the streams, in order of their first rings; and give each unit its stream's. */
static bool part(struct trace_steps *r, const struct sharing *s, uint32_t *stream_of)
{
	const struct perf_trace *p = r->p;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->chunks.rings.nr; i++) {
		uint32_t first = first_ring(s, i);

		stream_of[i] = first == i ? nr++ : stream_of[first];
	}
	if (nr < 2 || nr > MAX_STREAMS || !s->is_whole)
		return aux_streams_part(r, 1, NULL);
	for (size_t i = 0; i < p->units.nr; i++)
		r->stream_of_unit[i] = s->ring_of[i] == AUX_NONE ? 0 : stream_of[s->ring_of[i]];
	return aux_streams_part(r, nr, stream_of);
}

static bool find_and_part(struct trace_steps *r)
{
	struct perf_trace *p = r->p;
	size_t nr_rings = p->chunks.rings.nr;
	struct sharing s = {
		.parent = mem_calloc(nr_rings + 1, sizeof(*s.parent)),
		.ring_of = mem_calloc(p->units.nr + 1, sizeof(*s.ring_of)),
	};
	uint32_t *stream_of = mem_calloc(nr_rings + 1, sizeof(*stream_of));
	bool ok = s.parent && s.ring_of && stream_of;

	for (uint32_t i = 0; ok && i < nr_rings; i++)
		s.parent[i] = i;
	for (size_t i = 0; ok && i < p->units.nr; i++)
		s.ring_of[i] = AUX_NONE;
	ok = ok && pass(p, &s) == CLEW_OK && part(r, &s, stream_of);
	mem_free(s.parent);
	mem_free(s.ring_of);
	mem_free(stream_of);
	return ok;
}

struct trace_steps *aux_sharing_streams(struct trace_input *t, const struct trace_sink *sink)
{
	struct trace_steps *r = aux_streams_new_single(t, sink);

	if (r && !find_and_part(r)) {
		aux_streams_free(r);
		return NULL;
	}
	if (r)
		trace_input_begin(t, r->bytes / 2); /* the pass gave all of it once */
	return r;
}
