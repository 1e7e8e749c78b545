/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_streams.h"

#include "base/err.h"
#include "trace/perf/perf_trace_impl.h"

enum {
	STEP_BYTES = 4 << 10,    /* at a time, where streams take turns, */
	SINGLE_BYTES = 64 << 10, /* and where there is one */
	RELEASE_STEP = 1 << 20,  /* of a mapped file, at a time, */
	RELEASE_MAX = 256 << 20, /* and at most */
};

/* --- for protocols --- */

void *aux_streams_own(const struct trace_steps *r, uint32_t type)
{
	return r->owns[perf_trace_protocol(r->p, type)];
}

static enum clew_err warn_of(const struct trace_steps *r, const struct aux_chunk *c,
			     const char *what, uint64_t nr)
{
	return trace_warn_on(&r->sink->listener, c->cpu, what, nr, c->at);
}

enum clew_err aux_streams_warn(const struct trace_steps *r, const char *what, uint64_t nr,
			       uint64_t offset)
{
	return trace_warn(&r->sink->listener, what, nr, offset);
}

/** The bytes before it were the last ones that the unit was given. */
static bool is_continued(const struct trace_steps *r, const struct aux_stream *l, uint32_t unit)
{
	return r->p->protocols[l->chunk->protocol].protocol->continues && r->begun[unit] &&
	       r->given[l->chunk->ring] == l->piece;
}

enum clew_err aux_streams_begin(struct trace_steps *r, const struct aux_stream *l, uint32_t unit)
{
	const struct trace_sink *k = r->sink;
	bool continues = r->p->protocols[l->chunk->protocol].protocol->continues;
	bool has_bound = !continues && !l->chunk->is_uncovered;
	struct clew_perf_ns bound = {has_bound ? l->chunk->time.ns : 0};
	bool is_begun = r->begun[unit] == l->number || is_continued(r, l, unit);
	enum clew_err err;

	r->begun[unit] = l->number;
	if (is_begun)
		return CLEW_OK;
	err = k->restart(k->ctx, unit, r->offsets[unit]);
	return err || !k->bound ? err : k->bound(k->ctx, unit, bound);
}

enum clew_err aux_streams_give(struct trace_steps *r, uint32_t unit, struct bytes in)
{
	uint64_t offset = r->offsets[unit];

	r->offsets[unit] += bytes_left(&in);
	return r->sink->bytes(r->sink->ctx, unit, in, offset);
}

void aux_streams_break(struct trace_steps *r, struct aux_stream *l)
{
	l->number = ++r->last_number;
}

enum clew_err aux_streams_take_raw(struct trace_steps *r, const struct aux_stream *l,
				   struct bytes in, uint64_t at)
{
	const struct trace_sink *k = r->sink;
	const struct aux_chunk *c = l->chunk;
	uint64_t *unit = map_u64_get(&r->p->by_cpu, perf_trace_cpu_key(c->protocol, c->cpu));
	enum clew_err err;

	if (!unit)
		return warn_of(r, c, "raw trace of a CPU that no metadata describes", c->cpu);
	err = aux_streams_begin(r, l, (uint32_t)*unit);
	if (!err && k->mark)
		err = k->mark(k->ctx, *unit, r->offsets[*unit], at);
	return err ? err : aux_streams_give(r, (uint32_t)*unit, in);
}

/* --- a piece --- */

static const struct aux_protocol *protocol_of(const struct trace_steps *r,
					      const struct aux_stream *l)
{
	return r->p->protocols[l->chunk->protocol].protocol;
}

/** What the buffer holds of [@p from, @p end); @p from is in it. */
static struct bytes part_of(const struct aux_buffer *b, uint64_t from, uint64_t end)
{
	uint64_t skip = from - b->offset, left = b->bytes - skip;

	return bytes_of(b->data + skip, (size_t)(left < end - from ? left : end - from));
}

/** The stream's trace up to file offset @p to is decoded: its pages may go. */
static void release(const struct trace_steps *r, struct aux_stream *l, uint64_t to)
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

/** Each byte of trace belongs to one record. A file with records that name the same bytes again and
 * again must come to an end. */
static bool spend(struct trace_steps *r, uint64_t *budget, uint64_t cost)
{
	r->is_spent |= cost > *budget;
	*budget -= r->is_spent ? 0 : cost;
	return !r->is_spent;
}

static void set_budget(struct trace_steps *r)
{
	const struct aux_chunks *q = &r->p->chunks;

	r->bytes = 0;
	vec_for_each (&q->buffers, b)
		r->bytes += 2 * b->bytes;
	trace_input_begin(&r->p->trace, r->bytes / 2);
	r->steps = 4 * ((uint64_t)q->buffers.nr + q->all.nr);
}

/** What of buffer @p b no one wants, from here on. @return false: the next byte is wanted. */
static bool skip_unwanted(struct trace_steps *r, struct aux_stream *l, const struct aux_buffer *b)
{
	struct bytes in = part_of(b, l->from, l->end);
	uint64_t next = aux_wanted_at(&r->p->wanted, l->chunk->ring, l->from).from;
	uint64_t nr = bytes_left(&in);

	if (next <= l->from)
		return false;
	nr = next - l->from < nr ? next - l->from : nr;
	l->from += nr;
	l->is_new = true;
	trace_input_skipped(&r->p->trace, nr);
	return true;
}

/** A piece of what buffer @p b holds of the chunk. */
static enum clew_err run_piece(struct trace_steps *r, struct aux_stream *l,
			       const struct aux_buffer *b)
{
	uint64_t at = b->at + (l->from - b->offset);
	uint64_t end = aux_wanted_at(&r->p->wanted, l->chunk->ring, l->from).end;
	struct bytes in = part_of(b, l->from, l->end < end ? l->end : end);
	enum clew_err err;

	if (bytes_left(&in) > r->piece_bytes)
		in = bytes_of(in.pos, r->piece_bytes);
	if (!spend(r, &r->bytes, bytes_left(&in)))
		return CLEW_OK;
	if (l->is_new) {
		l->number = ++r->last_number;
		protocol_of(r, l)->restart(l->reader, at);
		l->is_new = false;
	}
	l->piece = l->from;
	l->from += bytes_left(&in);
	err = protocol_of(r, l)->take(r, l, in, at);
	r->given[l->chunk->ring] = l->from;
	release(r, l, at + bytes_left(&in));
	trace_input_gave(&r->p->trace, bytes_left(&in));
	return err;
}

/** The buffer that the chunk's next bytes are in. NULL: none. */
static const struct aux_buffer *buffer_of(struct trace_steps *r, struct aux_stream *l)
{
	const struct aux_chunks *q = &r->p->chunks;

	for (; l->from < l->end && l->buffer < q->buffers.nr; l->buffer++, l->is_seen = false) {
		const struct aux_buffer *b = &q->buffers.data[l->buffer];

		if (b->ring != l->chunk->ring || b->offset >= l->end ||
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

/** What the flags of the record say, after its trace. */
static enum clew_err report_flags(const struct trace_steps *r, const struct aux_chunk *c)
{
	enum clew_err err = CLEW_OK;

	if (c->flags & PERF_AUX_FLAG_TRUNCATED)
		err = warn_of(r, c, "trace was lost: its buffer was full", 0);
	if (!err && c->flags & PERF_AUX_FLAG_PARTIAL)
		err = warn_of(r, c, "trace has gaps", 0);
	if (!err && c->flags & PERF_AUX_FLAG_COLLISION)
		err = warn_of(r, c, "operations were not sampled: the one before was not complete",
			      0);
	return err;
}

static bool reader_of(struct trace_steps *r, struct aux_stream *l, uint32_t protocol)
{
	void **reader = &l->readers[protocol];

	if (!*reader)
		*reader = r->p->protocols[protocol].protocol->reader_new(r);
	l->reader = *reader;
	return l->reader;
}

static enum clew_err begin_chunk(struct trace_steps *r, struct aux_stream *l)
{
	const struct aux_chunk *c = &r->p->chunks.all.data[l->next];
	bool is_there = c->bytes && c->buffer != AUX_NONE;

	l->next = r->next_of[l->next];
	if (!reader_of(r, l, c->protocol))
		return CLEW_NO_MEMORY;
	if (c->flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK &
	    ~r->p->protocols[c->protocol].protocol->formats)
		return warn_of(r, c, "trace of an unknown format", c->flags);
	l->chunk = c;
	l->buffer = c->buffer;
	l->from = is_there ? c->offset : c->offset + c->bytes;
	l->end = c->offset + c->bytes;
	l->missing = is_there ? 0 : c->bytes;
	l->is_new = true;
	l->is_seen = false;
	return CLEW_OK;
}

static enum clew_err end_chunk(struct trace_steps *r, struct aux_stream *l)
{
	const struct aux_chunk *c = l->chunk;
	uint64_t missing = l->missing + (l->end - l->from);
	enum clew_err err = CLEW_OK;

	l->chunk = NULL;
	if (c->flags & PERF_AUX_FLAG_TRUNCATED && c->ring != AUX_NONE)
		r->given[c->ring] = UINT64_MAX; /* what comes next does not continue it */
	/* What a snapshot lacks was written over: that is what it is for. */
	if (missing && !(c->flags & PERF_AUX_FLAG_OVERWRITE))
		err = warn_of(r, c, "trace that an AUX record describes is not in the file",
			      missing);
	if (!err)
		err = report_flags(r, c);
	if (err || !r->is_spent || r->is_reported_spent)
		return err;
	r->is_reported_spent = true;
	return warn_of(r, c, "the rest is skipped: earlier records described it already", 0);
}

static enum clew_err end_stream(struct trace_steps *r, struct aux_stream *l)
{
	uint32_t number = (uint32_t)(l - r->streams);
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && !l->has_ended && r->sink->end && i < r->p->units.nr; i++) {
		if (r->stream_of_unit[i] == number)
			err = r->sink->end(r->sink->ctx, i);
	}
	l->has_ended = true;
	return err ? err : CLEW_END;
}

static enum clew_err step(struct trace_steps *r, struct aux_stream *l)
{
	const struct aux_buffer *b;
	enum clew_err err;

	if (!l->chunk) {
		if (l->next == AUX_NONE || r->is_spent)
			return end_stream(r, l);
		err = begin_chunk(r, l);
		if (err || !l->chunk)
			return err;
	}
	b = r->is_spent ? NULL : buffer_of(r, l);
	err = b && !skip_unwanted(r, l, b) ? run_piece(r, l, b) : CLEW_OK;
	if (err)
		return err;
	return l->from < l->end && b && !r->is_spent ? CLEW_OK : end_chunk(r, l);
}

/* --- one stream, or several --- */

void aux_streams_free(struct trace_steps *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->streams && i < r->nr_streams; i++) {
		for (uint32_t k = 0; k < r->p->nr_protocols; k++) {
			if (r->streams[i].readers[k])
				r->p->protocols[k].protocol->reader_free(r->streams[i].readers[k]);
		}
	}
	for (uint32_t k = 0; k < r->p->nr_protocols; k++)
		mem_free(r->owns[k]);
	mem_free(r->streams);
	mem_free(r->offsets);
	mem_free(r->begun);
	mem_free(r->given);
	mem_free(r->stream_of_unit);
	mem_free(r->next_of);
	mem_free(r);
}

static bool fill_streams(struct trace_steps *r, const uint32_t *stream_of)
{
	const struct aux_chunks *q = &r->p->chunks;

	r->streams = mem_calloc(r->nr_streams, sizeof(*r->streams));
	for (size_t i = 0; r->streams && i < r->nr_streams; i++)
		r->streams[i].next = AUX_NONE;
	for (size_t i = q->all.nr; r->streams && i-- > 0;) {
		uint32_t ring = q->all.data[i].ring;
		struct aux_stream *l =
			&r->streams[stream_of && ring != AUX_NONE ? stream_of[ring] : 0];

		r->next_of[i] = l->next;
		l->next = (uint32_t)i;
	}
	return r->streams;
}

static bool make_owns(struct trace_steps *r)
{
	bool ok = true;

	for (uint32_t k = 0; k < r->p->nr_protocols; k++) {
		r->owns[k] = mem_zalloc(r->p->protocols[k].protocol->pass_bytes + 1);
		ok = ok && r->owns[k];
	}
	return ok;
}

/** All in one stream. NULL: no memory. */
static struct trace_steps *steps_new(struct perf_trace *p, const struct trace_sink *sink)
{
	struct trace_steps *r = mem_zalloc(sizeof(*r));
	size_t nr = p->units.nr + 1;

	if (!r)
		return NULL;
	r->p = p;
	r->sink = sink;
	r->nr_streams = 1;
	r->piece_bytes = sink->piece_bytes ? sink->piece_bytes : RELEASE_STEP;
	r->offsets = mem_calloc(nr, sizeof(*r->offsets));
	r->begun = mem_calloc(nr, sizeof(*r->begun));
	r->given = mem_calloc(p->chunks.rings.nr + 1, sizeof(*r->given));
	r->stream_of_unit = mem_calloc(nr, sizeof(*r->stream_of_unit));
	r->next_of = mem_calloc(p->chunks.all.nr + 1, sizeof(*r->next_of));
	if (!make_owns(r) || !r->offsets || !r->begun || !r->given || !r->stream_of_unit ||
	    !r->next_of || !fill_streams(r, NULL)) {
		aux_streams_free(r);
		return NULL;
	}
	set_budget(r);
	return r;
}

static enum clew_err run_all(struct trace_steps *r)
{
	enum clew_err err;

	do
		err = step(r, &r->streams[0]);
	while (!err);
	return err == CLEW_END ? CLEW_OK : err;
}

/** All was given, in one stream. */
static enum clew_err end_pass(struct trace_steps *r)
{
	enum clew_err err = CLEW_OK;

	for (uint32_t k = 0; !err && k < r->p->nr_protocols; k++) {
		r->streams[0].reader = r->streams[0].readers[k];
		if (r->p->protocols[k].protocol->end)
			err = r->p->protocols[k].protocol->end(r, &r->streams[0]);
	}
	return err;
}

enum clew_err aux_streams_run(struct trace_input *t, const struct trace_sink *sink,
			      struct clew_diag *diag)
{
	struct trace_steps *r = steps_new((struct perf_trace *)t, sink);
	enum clew_err err = r ? run_all(r) : CLEW_NO_MEMORY;

	if (!err)
		err = end_pass(r);
	aux_streams_free(r);
	if (err && diag && !diag->code)
		clew_fail(diag, err, 0, clew_err_name(err));
	return err;
}

struct trace_steps *aux_streams_new_single(struct trace_input *t, const struct trace_sink *sink)
{
	struct trace_steps *r = steps_new((struct perf_trace *)t, sink);

	if (!r)
		return NULL;
	r->piece_bytes = SINGLE_BYTES;
	r->is_single = true;
	return r;
}

bool aux_streams_part(struct trace_steps *r, size_t nr, const uint32_t *stream_of)
{
	mem_free(r->streams);
	r->nr_streams = nr;
	r->piece_bytes = STEP_BYTES;
	r->is_single = false;
	return fill_streams(r, stream_of);
}

size_t aux_streams_nr(const struct trace_steps *s)
{
	return s->nr_streams;
}

enum clew_err aux_streams_step(struct trace_steps *s, size_t stream)
{
	enum clew_err err = step(s, &s->streams[stream]), why = CLEW_OK;

	if (err == CLEW_END && s->is_single)
		why = end_pass(s);
	return why ? why : err;
}
