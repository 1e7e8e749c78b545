/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/perf_etm_run.h"

#include "base/err.h"
#include "trace/etm_marks.h"
#include "trace/perf/perf_etm_impl.h"

enum {
	FEED_BYTES = 64 << 10,   /* demultiplexed at a time, */
	STEP_BYTES = 4 << 10,    /* and where lanes take turns */
	RELEASE_STEP = 1 << 20,  /* of a mapped file, at a time, */
	RELEASE_MAX = 256 << 20, /* and at most */
	MAX_LANES = 1024,        /* more: one that has all */
};

/** Chunks whose trace is given in their order, and where in them it stands. */
struct lane {
	struct cs_demux *demux;       /* NULL: no chunk was begun */
	uint32_t next;                /* chunk; PE_NONE: none is left */
	const struct pe_chunk *chunk; /* NULL: between two */
	uint32_t buffer;
	uint64_t from, end, missing; /* missing: bytes that no buffer holds */
	uint64_t number;             /* of the piece of trace without gaps */
	uint64_t released;
	bool is_seen; /* the buffer */
	bool is_new;  /* the next byte does not continue the last one */
	bool has_ended;
};

struct etm_steps {
	struct perf_etm *p;
	const struct etm_sink *sink;
	uint64_t *offsets;      /* of each unit's stream */
	uint64_t *begun;        /* by each unit: number of the piece */
	uint32_t *lane_of_unit; /* that tells its end; of one without trace too */
	uint32_t *next_of;      /* of each chunk: the next one of its lane */
	struct lane *lanes;
	size_t nr_lanes, piece_bytes;
	uint64_t last_number;
	uint64_t bytes, steps; /* that may still be looked at */
	bool is_spent, is_told_spent;
	struct etm_frames frames;
	enum clew_err seen_err; /* what sink->seen said */
};

static enum clew_err trouble(const struct etm_steps *r, const char *what, uint64_t nr,
			     uint64_t offset)
{
	return r->sink->trouble ? r->sink->trouble(r->sink->ctx, what, nr, offset) : CLEW_OK;
}

/** The unit's next bytes are of the lane's chunk: the first of them start it afresh. */
static enum clew_err begin(struct etm_steps *r, uint32_t unit, const struct lane *l)
{
	const struct etm_sink *k = r->sink;
	enum clew_err err;

	if (r->begun[unit] == l->number)
		return CLEW_OK;
	r->begun[unit] = l->number;
	err = k->restart(k->ctx, unit, r->offsets[unit]);
	return err || !k->bound ? err : k->bound(k->ctx, unit, l->chunk->time);
}

static enum clew_err give(struct etm_steps *r, uint32_t unit, struct bytes in)
{
	uint64_t offset = r->offsets[unit];

	r->offsets[unit] += bytes_left(&in);
	return r->sink->bytes(r->sink->ctx, unit, in, offset);
}

static enum clew_err mark(const struct etm_steps *r, uint32_t unit, uint64_t pos,
			  uint64_t file_offset)
{
	const struct etm_sink *k = r->sink;

	return k->mark ? k->mark(k->ctx, unit, r->offsets[unit] + pos, file_offset) : CLEW_OK;
}

static enum clew_err give_stream(struct etm_steps *r, const struct lane *l, uint32_t unit,
				 const struct cs_stream *s)
{
	enum clew_err err = begin(r, unit, l);

	if (!err)
		err = etm_tell_marks(r->sink, unit, r->offsets[unit], s);
	return err ? err : give(r, unit, bytes_of(s->bytes.data, s->bytes.nr));
}

/** Told of once for each ID. */
static enum clew_err drop(struct etm_steps *r, unsigned int id, const struct cs_stream *s)
{
	bool was_told = r->frames.nr_nobodys[id];

	r->frames.nr_nobodys[id] += s->bytes.nr;
	if (was_told)
		return CLEW_OK;
	return trouble(r, "trace of an ID that no metadata describes", id, cs_stream_offset(s, 0));
}

static uint32_t sink_of(const struct etm_steps *r, const struct pe_chunk *c)
{
	const struct pe_cpu *cpu = pe_meta_cpu(&r->p->meta, c->cpu);

	return cpu ? cpu->sink : 0;
}

static enum clew_err give_streams(struct etm_steps *r, const struct lane *l)
{
	uint64_t sink_id = sink_of(r, l->chunk);

	for (unsigned int id = 1; id < 0x70; id++) {
		struct cs_stream *s = cs_demux_stream(l->demux, id);
		uint64_t *unit;
		enum clew_err err;

		if (!s || !s->bytes.nr)
			continue;
		unit = map_u64_get(&r->p->by_id, sink_id << 8 | id);
		err = unit ? give_stream(r, l, (uint32_t)*unit, s) : drop(r, id, s);
		cs_stream_clear(s);
		if (err)
			return err;
	}
	return CLEW_OK;
}

static void take_seen(void *ctx, const struct cs_seen *s)
{
	struct etm_steps *r = ctx;

	if (!r->seen_err)
		r->seen_err = r->sink->seen(r->sink->ctx, NULL, s);
}

static enum clew_err run_frames(struct etm_steps *r, struct lane *l, struct bytes in)
{
	while (bytes_left(&in)) {
		size_t nr = bytes_left(&in) < FEED_BYTES ? bytes_left(&in) : FEED_BYTES;
		struct bytes part = {in.pos, in.pos + nr};
		enum cs_event event;
		enum clew_err err;
		uint64_t offset;

		if (!cs_demux_feed(l->demux, &part, &event, &offset))
			return CLEW_NO_MEMORY;
		err = r->seen_err ? r->seen_err : give_streams(r, l);
		if (event == CS_BARRIER)
			l->number = ++r->last_number; /* whoever gets bytes next begins anew */
		if (!err && event == CS_LOST)
			err = trouble(r, "bytes that are no frame", 0, offset);
		if (err)
			return err;
		in.pos = part.pos;
	}
	return CLEW_OK;
}

static enum clew_err run_raw(struct etm_steps *r, const struct lane *l, struct bytes in,
			     uint64_t at)
{
	const struct pe_chunk *c = l->chunk;
	uint64_t *unit = map_u64_get(&r->p->by_cpu, c->cpu);
	enum clew_err err;

	if (!unit)
		return trouble(r, "raw trace of a CPU that no metadata describes", c->cpu, c->at);
	err = begin(r, (uint32_t)*unit, l);
	if (!err)
		err = mark(r, (uint32_t)*unit, 0, at);
	return err ? err : give(r, (uint32_t)*unit, in);
}

/** What the buffer holds of [@p from, @p end); @p from is in it. */
static struct bytes part_of(const struct pe_buffer *b, uint64_t from, uint64_t end)
{
	uint64_t skip = from - b->offset, left = b->bytes - skip;

	return bytes_of(b->data + skip, (size_t)(left < end - from ? left : end - from));
}

/** The lane's trace up to file offset @p to is decoded: its pages may go. */
static void release(const struct etm_steps *r, struct lane *l, uint64_t to)
{
	const struct perf_input *in = &r->p->input;
	const struct os_map map = {in->data, in->size};

	if (to < l->released || to - l->released > RELEASE_MAX)
		l->released = to; /* another place in the file */
	if (!in->is_mapped || to - l->released < RELEASE_STEP)
		return;
	os_map_release(&map, l->released, to);
	l->released = to - to % RELEASE_STEP;
}

/** Trace is told of once. A file whose records tell of the same again and again must come to an
 * end. */
static bool spend(struct etm_steps *r, uint64_t *budget, uint64_t cost)
{
	r->is_spent |= cost > *budget;
	*budget -= r->is_spent ? 0 : cost;
	return !r->is_spent;
}

static void set_budget(struct etm_steps *r)
{
	const struct pe_queues *q = &r->p->queues;

	r->bytes = 0;
	vec_for_each (&q->buffers, b)
		r->bytes += 2 * b->bytes;
	etm_trace_begin(&r->p->trace, r->bytes / 2);
	r->steps = 4 * ((uint64_t)q->buffers.nr + q->chunks.nr);
}

/** A piece of what buffer @p b holds of the chunk. */
static enum clew_err run_piece(struct etm_steps *r, struct lane *l, const struct pe_buffer *b)
{
	uint64_t at = b->at + (l->from - b->offset);
	struct bytes in = part_of(b, l->from, l->end);
	enum clew_err err;

	if (bytes_left(&in) > r->piece_bytes)
		in = bytes_of(in.pos, r->piece_bytes);
	if (!spend(r, &r->bytes, bytes_left(&in)))
		return CLEW_OK;
	if (l->is_new) {
		l->number = ++r->last_number;
		cs_demux_restart(l->demux, at);
		l->is_new = false;
	}
	l->from += bytes_left(&in);
	err = pe_chunk_is_raw(l->chunk) ? run_raw(r, l, in, at) : run_frames(r, l, in);
	release(r, l, at + bytes_left(&in));
	etm_trace_gave(&r->p->trace, bytes_left(&in));
	return err;
}

/** The buffer that the chunk's next bytes are in. NULL: none. */
static const struct pe_buffer *buffer_of(struct etm_steps *r, struct lane *l)
{
	const struct pe_queues *q = &r->p->queues;

	for (; l->from < l->end && l->buffer < q->buffers.nr; l->buffer++, l->is_seen = false) {
		const struct pe_buffer *b = &q->buffers.data[l->buffer];

		if (b->queue != l->chunk->queue || b->offset >= l->end ||
		    (!l->is_seen && !spend(r, &r->steps, 1)))
			break;
		l->is_seen = true;
		if (b->offset > l->from) {
			l->missing += b->offset - l->from;
			l->from = b->offset;
			l->is_new = true;
		}
		if (l->from - b->offset < b->bytes)
			return b;
	}
	return NULL;
}

/** What the flags of the record tell, behind its trace. */
static enum clew_err tell_flags(const struct etm_steps *r, const struct pe_chunk *c)
{
	enum clew_err err = CLEW_OK;

	if (c->flags & PERF_AUX_FLAG_TRUNCATED)
		err = trouble(r, "trace was lost: its buffer was full", 0, c->at);
	if (!err && c->flags & PERF_AUX_FLAG_PARTIAL)
		err = trouble(r, "trace has gaps", 0, c->at);
	if (!err && c->flags & PERF_AUX_FLAG_COLLISION)
		err = trouble(r, "trace was lost: it collided with other trace", 0, c->at);
	return err;
}

static bool new_demux(struct etm_steps *r, struct lane *l)
{
	l->demux = cs_demux_new(CS_MEMORY);
	if (l->demux && r->sink->seen)
		cs_demux_watch(l->demux, take_seen, r);
	return l->demux;
}

static enum clew_err begin_chunk(struct etm_steps *r, struct lane *l)
{
	const struct pe_chunk *c = &r->p->queues.chunks.data[l->next];
	bool is_there = c->bytes && c->buffer != PE_NONE;

	if (!l->demux && !new_demux(r, l))
		return CLEW_NO_MEMORY;
	l->next = r->next_of[l->next];
	if (c->flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK & ~(uint32_t)PE_FORMAT_RAW)
		return trouble(r, "trace of an unknown format", c->flags, c->at);
	l->chunk = c;
	l->buffer = c->buffer;
	l->from = is_there ? c->offset : c->offset + c->bytes;
	l->end = c->offset + c->bytes;
	l->missing = is_there ? 0 : c->bytes;
	l->is_new = true;
	l->is_seen = false;
	return CLEW_OK;
}

static enum clew_err end_chunk(struct etm_steps *r, struct lane *l)
{
	const struct pe_chunk *c = l->chunk;
	uint64_t missing = l->missing + (l->end - l->from);
	enum clew_err err = CLEW_OK;

	l->chunk = NULL;
	/* What a snapshot lacks was written over: that is what it is for. */
	if (missing && !(c->flags & PERF_AUX_FLAG_OVERWRITE))
		err = trouble(r, "trace that an AUX record describes is not in the file", missing,
			      c->at);
	if (!err)
		err = tell_flags(r, c);
	if (err || !r->is_spent || r->is_told_spent)
		return err;
	r->is_told_spent = true;
	return trouble(r, "the rest is skipped: earlier records described it already", 0, c->at);
}

static enum clew_err end_lane(struct etm_steps *r, struct lane *l)
{
	uint32_t number = (uint32_t)(l - r->lanes);
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && !l->has_ended && r->sink->end && i < r->p->units.nr; i++) {
		if (r->lane_of_unit[i] == number)
			err = r->sink->end(r->sink->ctx, i);
	}
	l->has_ended = true;
	return err ? err : CLEW_END;
}

static enum clew_err step(struct etm_steps *r, struct lane *l)
{
	const struct pe_buffer *b;
	enum clew_err err;

	if (!l->chunk) {
		if (l->next == PE_NONE || r->is_spent)
			return end_lane(r, l);
		err = begin_chunk(r, l);
		if (err || !l->chunk)
			return err;
	}
	b = r->is_spent ? NULL : buffer_of(r, l);
	err = b ? run_piece(r, l, b) : CLEW_OK;
	if (err)
		return err;
	return l->from < l->end && b && !r->is_spent ? CLEW_OK : end_chunk(r, l);
}

/* --- one lane, or one for each row of rings that share a unit --- */

void pe_steps_free(struct etm_steps *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->lanes && i < r->nr_lanes; i++)
		cs_demux_free(r->lanes[i].demux);
	mem_free(r->lanes);
	mem_free(r->offsets);
	mem_free(r->begun);
	mem_free(r->lane_of_unit);
	mem_free(r->next_of);
	mem_free(r);
}

/** @p lane_of: of each ring; NULL: all are of one. */
static bool fill_lanes(struct etm_steps *r, const uint32_t *lane_of)
{
	const struct pe_queues *q = &r->p->queues;

	r->lanes = mem_calloc(r->nr_lanes, sizeof(*r->lanes));
	for (size_t i = 0; r->lanes && i < r->nr_lanes; i++)
		r->lanes[i].next = PE_NONE;
	for (size_t i = q->chunks.nr; r->lanes && i-- > 0;) {
		uint32_t ring = q->chunks.data[i].queue;
		struct lane *l = &r->lanes[lane_of && ring != PE_NONE ? lane_of[ring] : 0];

		r->next_of[i] = l->next;
		l->next = (uint32_t)i;
	}
	return r->lanes;
}

/** All in one lane. NULL: no memory. */
static struct etm_steps *steps_new(struct perf_etm *p, const struct etm_sink *sink)
{
	struct etm_steps *r = mem_zalloc(sizeof(*r));
	size_t nr = p->units.nr + 1;

	if (!r)
		return NULL;
	r->p = p;
	r->sink = sink;
	r->nr_lanes = 1;
	r->piece_bytes = RELEASE_STEP;
	r->offsets = mem_calloc(nr, sizeof(*r->offsets));
	r->begun = mem_calloc(nr, sizeof(*r->begun));
	r->lane_of_unit = mem_calloc(nr, sizeof(*r->lane_of_unit));
	r->next_of = mem_calloc(p->queues.chunks.nr + 1, sizeof(*r->next_of));
	if (!r->offsets || !r->begun || !r->lane_of_unit || !r->next_of || !fill_lanes(r, NULL)) {
		pe_steps_free(r);
		return NULL;
	}
	set_budget(r);
	return r;
}

static enum clew_err run_all(struct etm_steps *r)
{
	enum clew_err err;

	do
		err = step(r, &r->lanes[0]);
	while (!err);
	return err == CLEW_END ? CLEW_OK : err;
}

static enum clew_err end_frames(struct etm_steps *r)
{
	const struct etm_sink *k = r->sink;
	struct cs_demux *demux = r->lanes[0].demux;

	if (demux) {
		cs_demux_restart(demux, 0);
		r->frames.counts = *cs_demux_counts(demux);
	}
	if (r->seen_err)
		return r->seen_err;
	return k->frames ? k->frames(k->ctx, &r->frames) : CLEW_OK;
}

enum clew_err pe_run(struct etm_trace *t, const struct etm_sink *sink, struct clew_diag *diag)
{
	struct etm_steps *r = steps_new((struct perf_etm *)t, sink);
	enum clew_err err = r ? run_all(r) : CLEW_NO_MEMORY;

	if (!err)
		err = end_frames(r);
	pe_steps_free(r);
	if (err && diag && !diag->code)
		clew_fail(diag, err, 0, clew_err_name(err));
	return err;
}

/** Which rings hold trace of one unit: their chunks have to keep their order. */
struct sharing {
	struct etm_steps *all;
	uint32_t *parent;  /* of each ring, up to the first of its row */
	uint32_t *ring_of; /* of each unit, the first ring that held trace of it */
	bool is_whole;     /* no trace was left out: what was not looked at may be shared too */
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
	uint32_t ring = s->all->lanes[0].chunk->queue, a, b;

	(void)in, (void)offset;
	if (ring == PE_NONE)
		return CLEW_OK;
	if (s->ring_of[unit] == PE_NONE)
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

/** Number the rows, in order of their first rings; and give each unit its row's. */
static bool make_lanes(struct etm_steps *r, const struct sharing *s, uint32_t *lane_of)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < r->p->queues.nr; i++) {
		uint32_t first = first_ring(s, i);

		lane_of[i] = first == i ? nr++ : lane_of[first];
	}
	if (nr < 2 || nr > MAX_LANES || !s->is_whole)
		return true;
	for (size_t i = 0; i < r->p->units.nr; i++)
		r->lane_of_unit[i] = s->ring_of[i] == PE_NONE ? 0 : lane_of[s->ring_of[i]];
	mem_free(r->lanes);
	r->nr_lanes = nr;
	return fill_lanes(r, lane_of);
}

static enum clew_err find_sharing(struct perf_etm *p, struct sharing *s)
{
	const struct etm_sink sink = {.bytes = note_sharing, .restart = note_nothing, .ctx = s};
	enum clew_err err = CLEW_NO_MEMORY;

	for (uint32_t i = 0; i < p->queues.nr; i++)
		s->parent[i] = i;
	for (size_t i = 0; i < p->units.nr; i++)
		s->ring_of[i] = PE_NONE;
	s->all = steps_new(p, &sink);
	if (s->all) {
		err = run_all(s->all);
		s->is_whole = !s->all->is_spent;
	}
	pe_steps_free(s->all);
	return err;
}

static bool split(struct etm_steps *r)
{
	struct perf_etm *p = r->p;
	struct sharing s = {
		.parent = mem_calloc((size_t)p->queues.nr + 1, sizeof(*s.parent)),
		.ring_of = mem_calloc(p->units.nr + 1, sizeof(*s.ring_of)),
	};
	uint32_t *lane_of = mem_calloc((size_t)p->queues.nr + 1, sizeof(*lane_of));
	bool ok = s.parent && s.ring_of && lane_of && find_sharing(p, &s) == CLEW_OK &&
		  make_lanes(r, &s, lane_of);

	mem_free(s.parent);
	mem_free(s.ring_of);
	mem_free(lane_of);
	return ok;
}

struct etm_steps *pe_steps_new(struct etm_trace *t, const struct etm_sink *sink)
{
	struct etm_steps *r = steps_new((struct perf_etm *)t, sink);

	if (r && !split(r)) {
		pe_steps_free(r);
		return NULL;
	}
	if (!r)
		return NULL;
	r->piece_bytes = STEP_BYTES;
	etm_trace_begin(t, r->bytes / 2); /* split() gave all of it once */
	return r;
}

size_t pe_steps_lanes(const struct etm_steps *s)
{
	return s->nr_lanes;
}

enum clew_err pe_step(struct etm_steps *s, size_t lane)
{
	return step(s, &s->lanes[lane]);
}
