/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/err.h"
#include "packet/coresight/cs_dstream.h"
#include "trace/cs_listener.h"
#include "trace/cs_marks.h"
#include "trace/snapshot/cs_snapshot_impl.h"

enum { RELEASE_BYTES = 1 << 20 };

/** One pass, and of the buffer that is being given: */
struct run {
	struct cs_snapshot *s;
	const struct trace_sink *sink;
	struct cs_leftover frames;      /* of all buffers */
	size_t next;                    /* buffer */
	const struct cs_buffer *buffer; /* NULL: between two */
	struct bytes left;
	struct cs_demux *demux;      /* NULL: its bytes are one unit's */
	uint64_t *offsets;           /* bytes given so far, by place of the unit in the buffer */
	bool is_reported[CS_NR_IDS]; /* the ID is no unit's, which was reported */
	enum clew_err seen_err;      /* what the listener returned */
	size_t released;             /* bytes of the mapping that were dropped again */
};

static enum clew_err warn(const struct run *r, const char *what, uint64_t number, uint64_t at)
{
	return trace_warn(&r->sink->listener, what, number, at);
}

static enum clew_err give(struct run *r, size_t place, const uint8_t *data, size_t bytes)
{
	size_t unit = r->buffer->first_unit + place;
	enum clew_err err =
		r->sink->bytes(r->sink->ctx, unit, bytes_of(data, bytes), r->offsets[place]);

	r->offsets[place] += bytes;
	return err;
}

static enum clew_err drop(struct run *r, unsigned int id, const struct cs_stream *stream)
{
	bool was_reported = r->is_reported[id];

	r->is_reported[id] = true;
	r->frames.nr_unclaimed[id] += stream->bytes.nr;
	if (was_reported)
		return CLEW_OK;
	return warn(r, "trace of an ID that no source has", id, cs_stream_offset(stream, 0));
}

static enum clew_err drain_id(struct run *r, unsigned int id, struct cs_stream *stream)
{
	size_t place = r->buffer->unit_of_id[id];
	enum clew_err err = CLEW_OK;

	if (place) {
		err = cs_put_marks(r->sink, r->buffer->first_unit + place - 1,
				   r->offsets[place - 1], stream);
		if (!err)
			err = give(r, place - 1, stream->bytes.data, stream->bytes.nr);
	} else {
		err = drop(r, id, stream);
	}
	cs_stream_clear(stream);
	return err;
}

static enum clew_err drain(struct run *r)
{
	enum clew_err err = CLEW_OK;

	for (unsigned int id = 1; !err && id < CS_NR_IDS; id++) {
		struct cs_stream *stream = cs_demux_stream(r->demux, id);

		if (stream && stream->bytes.nr)
			err = drain_id(r, id, stream);
	}
	return err;
}

static enum clew_err restart(struct run *r)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < r->buffer->nr_units; i++)
		err = r->sink->restart(r->sink->ctx, r->buffer->first_unit + i, r->offsets[i]);
	return err;
}

static void take_seen(void *ctx, const struct cs_seen *s)
{
	struct run *r = ctx;
	const struct cs_listener *k = r->sink->coresight;
	const char *file = r->s->files.data[r->buffer->file].name;

	if (!r->seen_err)
		r->seen_err = k->seen(k->ctx, file, s);
}

static enum clew_err feed(struct run *r, struct bytes in)
{
	enum clew_err err = CLEW_OK;
	enum cs_event event;
	uint64_t at;

	do {
		if (!cs_demux_feed(r->demux, &in, &event, &at))
			return CLEW_NO_MEMORY;
		err = r->seen_err ? r->seen_err : drain(r);
		if (!err && event == CS_LOST)
			err = warn(r, "bytes that are not a frame", 0, at);
		if (!err && event != CS_DONE)
			err = restart(r);
	} while (!err && event != CS_DONE);
	return err;
}

/** However long the trace is, little of it stays in memory. */
static void release(struct run *r, const uint8_t *end)
{
	const struct os_map *map = &r->s->files.data[r->buffer->file].map;
	size_t to = (size_t)(end - map->data);

	if (to - r->released < RELEASE_BYTES)
		return;
	os_map_release(map, r->released, to);
	r->released = to;
}

static enum clew_err step_piece(struct run *r)
{
	size_t left = bytes_left(&r->left);
	enum clew_err err = CLEW_OK;
	struct bytes piece;

	if (!bytes_take(&r->left, left < r->s->piece_bytes ? left : r->s->piece_bytes, &piece))
		return CLEW_OK;
	if (r->demux)
		err = feed(r, piece);
	else if (r->buffer->unit_of_id[0])
		err = give(r, r->buffer->unit_of_id[0] - 1u, piece.pos, bytes_left(&piece));
	release(r, r->left.pos);
	trace_input_gave(&r->s->trace, bytes_left(&piece));
	return err;
}

/* --- a buffer --- */

static enum cs_layout layout_of(const struct cs_buffer *b, const struct os_map *map)
{
	if (b->format == CS_BUF_DSTREAM && cs_is_dstream(map->data, map->size))
		return CS_DSTREAM;
	if (b->format == CS_BUF_DSTREAM || b->format == CS_BUF_TPIU)
		return CS_TPIU;
	return b->format == CS_BUF_TPIU_HSYNC ? CS_TPIU_HSYNC : CS_MEMORY;
}

static bool is_wanted(const struct cs_buffer *b, const struct trace_sink *sink)
{
	for (size_t i = 0; i < b->nr_units; i++) {
		if (!sink->skips || !sink->skips[b->first_unit + i])
			return true;
	}
	return false;
}

static void leave_buffer(struct run *r)
{
	cs_demux_free(r->demux);
	mem_free(r->offsets);
	r->demux = NULL;
	r->offsets = NULL;
	r->buffer = NULL;
}

static enum clew_err begin_buffer(struct run *r, const struct cs_buffer *b)
{
	const struct os_map *map = &r->s->files.data[b->file].map;

	r->buffer = b;
	r->left = bytes_of(map->data, map->size);
	r->released = 0;
	memset(r->is_reported, 0, sizeof(r->is_reported));
	r->offsets = mem_calloc(b->nr_units, sizeof(*r->offsets));
	if (b->format != CS_BUF_RAW)
		r->demux = cs_demux_new(layout_of(b, map));
	if (!r->offsets || (!r->demux && b->format != CS_BUF_RAW))
		return CLEW_NO_MEMORY;
	if (r->demux && r->sink->coresight && r->sink->coresight->seen)
		cs_demux_watch(r->demux, take_seen, r);
	return CLEW_OK;
}

static enum clew_err end_buffer(struct run *r)
{
	enum clew_err err = CLEW_OK;

	if (r->demux) {
		cs_demux_restart(r->demux, 0);
		cs_counts_add(&r->frames.counts, cs_demux_counts(r->demux));
		err = r->seen_err;
	}
	for (size_t i = 0; r->sink->end && !err && i < r->buffer->nr_units; i++)
		err = r->sink->end(r->sink->ctx, r->buffer->first_unit + i);
	leave_buffer(r);
	return err;
}

/* --- all of them --- */

static enum clew_err end_pass(const struct run *r)
{
	const struct cs_listener *k = r->sink->coresight;
	enum clew_err err = k && k->frames ? k->frames(k->ctx, &r->frames) : CLEW_OK;

	return err ? err : CLEW_END;
}

static enum clew_err step(struct run *r)
{
	struct cs_snapshot *s = r->s;

	if (r->buffer)
		return bytes_left(&r->left) ? step_piece(r) : end_buffer(r);
	while (r->next < s->buffers.nr && !is_wanted(&s->buffers.data[r->next], r->sink))
		r->next++;
	return r->next < s->buffers.nr ? begin_buffer(r, &s->buffers.data[r->next++]) : end_pass(r);
}

static uint64_t wanted_bytes(const struct cs_snapshot *s, const struct trace_sink *sink)
{
	uint64_t sum = 0;

	vec_for_each (&s->buffers, b)
		sum += is_wanted(b, sink) ? s->files.data[b->file].map.size : 0;
	return sum;
}

static struct run begin(struct trace_input *t, const struct trace_sink *sink)
{
	struct cs_snapshot *s = (struct cs_snapshot *)t;

	trace_input_begin(t, wanted_bytes(s, sink));
	return (struct run){.s = s, .sink = sink};
}

enum clew_err cs_snapshot_run(struct trace_input *t, const struct trace_sink *sink,
			      struct clew_diag *diag)
{
	struct run r = begin(t, sink);
	enum clew_err err;

	do
		err = step(&r);
	while (!err);
	leave_buffer(&r);
	return err == CLEW_END       ? CLEW_OK
	     : err == CLEW_NO_MEMORY ? clew_fail(diag, err, 0, "out of memory")
				     : err;
}

struct trace_steps *cs_snapshot_steps_new(struct trace_input *t, const struct trace_sink *sink)
{
	struct run *r = mem_alloc(sizeof(*r));

	if (r)
		*r = begin(t, sink);
	return (struct trace_steps *)r;
}

enum clew_err cs_snapshot_step(struct trace_steps *s, size_t stream)
{
	(void)stream;
	return step((struct run *)s);
}

void cs_snapshot_steps_free(struct trace_steps *s)
{
	if (s)
		leave_buffer((struct run *)s);
	mem_free(s);
}
