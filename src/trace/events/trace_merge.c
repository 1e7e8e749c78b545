/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"
#include "trace/events/trace_held.h"

/*
 * Units side by side, in order of time. What a unit's decoder delivers waits here until it is the
 * earliest: from one timestamp to the next all has the time of the first one; what precedes
 * a unit's first timestamp goes with that. A time that is less than the one before it counts as
 * that one.
 *
 * A stream's next piece is decoded when one of its units has nothing that waits. In a stream of
 * several units, one that has been silent for PATIENCE pieces is not waited for, nor any where the
 * stream holds its share of MAX_HELD_BYTES: this bounds memory, and what such a unit reports later
 * may come late. So is a unit's first timestamp: without it, what is there comes before all others.
 */
enum {
	PATIENCE = 64,
	MAX_HELD_BYTES = 32 << 20,  /* of all streams, */
	MAX_STREAM_BYTES = 4 << 20, /* of one, */
	MIN_STREAM_BYTES =
		512 << 10, /* however many there are: some piece of trace makes as much */
};

struct waiting { /* of one unit */
	struct trace_held *first, **last;
	struct trace_held_blocks *blocks; /* of its decoder's epoch; NULL: none yet */
	uint64_t key;                     /* time of the next item */
	uint64_t next_key;                /* of what follows it, as far as decoded */
	uint64_t met_at, fed_at; /* pieces of its stream when it first, and last, had something */
	uint32_t stream;
	bool is_met, has_key, is_in_heap;
};

struct stream {
	VEC(uint32_t); /* units that were met */
	uint64_t nr_pieces, held_bytes;
	bool is_over;
};

struct trace_merge {
	struct trace_events *events;
	struct trace_decoding *decoding;
	struct waiting *units;
	struct stream *streams;
	size_t nr_streams;
	uint32_t *heap; /* units that have something, the earliest first */
	size_t nr_heap;
	uint32_t stream; /* a piece of it is being decoded */
	bool is_filled, is_ns;
	struct trace_decode_opts plain; /* the events' own */
};

/* --- keys --- */

/** A number to order by, of one clock in all units: nanoseconds where is_ns, else ticks. */
static uint64_t key_of(const struct trace_merge *m, size_t unit, struct clew_ticks ticks)
{
	struct clew_perf_ns time;

	if (!m->is_ns)
		return ticks.ticks;
	return trace_events_time(m->events, unit, ticks, &time) ? time.ns : 0;
}

/** Time of what is waiting at @p i. @return false: it has none. */
static bool key_at(const struct trace_merge *m, size_t unit, const struct trace_held *h, size_t i,
		   uint64_t *ret)
{
	struct clew_ticks ticks = trace_held_ticks(h, i);

	*ret = ticks.ticks ? key_of(m, unit, ticks) : 0;
	return ticks.ticks;
}

static void find_first_key(const struct trace_merge *m, size_t unit, const struct trace_held *h)
{
	struct waiting *w = &m->units[unit];

	for (size_t i = 0; i < h->nr && !w->has_key; i++) {
		uint64_t key;

		if (key_at(m, unit, h, i, &key)) {
			w->key = w->next_key = key;
			w->has_key = true;
		}
	}
}

/* --- the heap --- */

static bool is_before(const struct trace_merge *m, uint32_t a, uint32_t b)
{
	uint64_t x = m->units[a].key, y = m->units[b].key;

	return x != y ? x < y : a < b;
}

static void swap(struct trace_merge *m, size_t i, size_t j)
{
	uint32_t unit = m->heap[i];

	m->heap[i] = m->heap[j];
	m->heap[j] = unit;
}

static void sift_down(struct trace_merge *m)
{
	for (size_t i = 0, least;; i = least) {
		least = 2 * i + 1;
		if (least >= m->nr_heap)
			return;
		if (least + 1 < m->nr_heap && is_before(m, m->heap[least + 1], m->heap[least]))
			least++;
		if (!is_before(m, m->heap[least], m->heap[i]))
			return;
		swap(m, i, least);
	}
}

static void heap_add(struct trace_merge *m, uint32_t unit)
{
	size_t i = m->nr_heap++;

	m->heap[i] = unit;
	for (; i && is_before(m, m->heap[i], m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(m, i, (i - 1) / 2);
}

static void heap_remove_first(struct trace_merge *m)
{
	m->heap[0] = m->heap[--m->nr_heap];
	sift_down(m);
}

/* --- what waits --- */

static bool meet(struct trace_merge *m, uint32_t unit)
{
	struct waiting *w = &m->units[unit];
	struct stream *s = &m->streams[m->stream];

	w->fed_at = s->nr_pieces;
	if (w->is_met)
		return true;
	w->is_met = true;
	w->stream = m->stream;
	w->met_at = s->nr_pieces;
	return vec_push(s, unit);
}

static enum clew_err append(struct trace_merge *m, size_t unit, struct trace_held *h)
{
	struct waiting *w = &m->units[unit];

	if (!h)
		return CLEW_NO_MEMORY;
	*w->last = h;
	w->last = &h->next;
	m->streams[m->stream].held_bytes += h->bytes;
	find_first_key(m, unit, h);
	return meet(m, (uint32_t)unit) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct trace_merge *m = ctx;

	return append(m, unit, trace_held_flow(&m->units[unit].blocks, b));
}

static enum clew_err take_ops(void *ctx, size_t unit, const struct trace_ops_batch *b)
{
	return b->nr ? append(ctx, unit, trace_held_ops(b)) : CLEW_OK;
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	const struct trace_decode_opts *o = &((const struct trace_merge *)ctx)->plain;

	return o->unit_end(o->ctx, unit, flow);
}

static enum clew_err take_ops_end(void *ctx, size_t unit, const struct trace_ops_counts *c)
{
	const struct trace_decode_opts *o = &((const struct trace_merge *)ctx)->plain;

	return o->ops_end(o->ctx, unit, c);
}

/* --- decoding ahead --- */

static bool is_full(const struct trace_merge *m, const struct stream *s)
{
	size_t share = MAX_HELD_BYTES / m->nr_streams;

	if (share > MAX_STREAM_BYTES)
		share = MAX_STREAM_BYTES;
	return s->held_bytes >= (share > MIN_STREAM_BYTES ? share : MIN_STREAM_BYTES);
}

static bool is_ready(const struct trace_merge *m, struct waiting *w, const struct stream *s)
{
	if (!w->has_key && (s->is_over || s->nr_pieces - w->met_at >= PATIENCE || is_full(m, s)))
		w->has_key = true; /* unknown: before all others */
	return w->first && w->has_key;
}

/** Has the next piece to come before the earliest of what waits is known? */
static bool needs_piece(const struct trace_merge *m, const struct stream *s)
{
	bool has_some = false, needs = false;

	if (s->is_over)
		return false;
	for (size_t i = 0; i < s->nr; i++) {
		struct waiting *w = &m->units[s->data[i]];

		if (is_ready(m, w, s))
			has_some = true;
		else if (s->nr_pieces - w->fed_at < PATIENCE)
			needs = true;
	}
	return !has_some || (needs && !is_full(m, s));
}

/** Decode until each unit of the stream has something, or need not. */
static enum clew_err fill(struct trace_merge *m, uint32_t stream)
{
	struct stream *s = &m->streams[stream];
	enum clew_err err = CLEW_OK;

	m->stream = stream;
	while (!err && needs_piece(m, s)) {
		s->nr_pieces++;
		err = trace_decoding_step(m->decoding, stream);
		if (err == CLEW_END) {
			s->is_over = true;
			err = CLEW_OK;
		}
	}
	for (size_t i = 0; i < s->nr; i++) {
		struct waiting *w = &m->units[s->data[i]];

		if (!w->is_in_heap && is_ready(m, w, s)) {
			w->is_in_heap = true;
			heap_add(m, s->data[i]);
		}
	}
	return err;
}

/* --- the earliest --- */

/**
 * The end of what has the unit's key. A branch is complete with what ran next: where a later time
 * lies between them, the first part of the next block, that execution came there, goes with the
 * branch.
 */
static size_t end_of_key(const struct trace_merge *m, uint32_t unit, size_t from)
{
	struct waiting *w = &m->units[unit];
	const struct trace_held *h = w->first;

	for (size_t i = from; i < h->nr; i++) {
		uint64_t key;

		if (key_at(m, unit, h, i, &key) && key > w->next_key)
			w->next_key = key;
		if (w->next_key == w->key)
			continue;
		if (h->ops || trace_held_is_run(h, i))
			return i;
		if (!trace_held_is_passive(h, i))
			return i + 1;
	}
	return h->nr;
}

/** With @p key as its time, would the earliest unit still be the earliest? */
static bool stays_first(const struct trace_merge *m, uint64_t key)
{
	for (size_t i = 1; i < 3 && i < m->nr_heap; i++) {
		uint64_t other = m->units[m->heap[i]].key;

		if (other < key || (other == key && m->heap[i] < m->heap[0]))
			return false;
	}
	return true;
}

/** Operations of the earliest unit that come before @p until and before all other units. */
static size_t end_of_first(const struct trace_merge *m, uint64_t until)
{
	uint32_t unit = m->heap[0];
	struct waiting *w = &m->units[unit];
	size_t end = end_of_key(m, unit, w->first->at);

	while (w->first->ops && end < w->first->nr && w->next_key < until &&
	       stays_first(m, w->next_key)) {
		w->key = w->next_key;
		end = end_of_key(m, unit, end);
	}
	return end;
}

static void drop_first(struct waiting *w)
{
	struct trace_held *h = w->first;

	w->first = h->next;
	if (!w->first)
		w->last = &w->first;
	trace_held_free(h);
}

/** What waits up to @p end. */
static enum clew_err run_part(struct trace_merge *m, uint32_t unit, size_t end)
{
	const struct trace_held *h = m->units[unit].first;
	struct trace_synth *synth = &m->events->synths[unit];
	struct flow_batch b;
	enum clew_err err;

	if (h->ops) {
		const struct trace_ops_batch ops = {h->ops + h->at, end - h->at, h->bound};

		return trace_ops_take(synth, &ops);
	}
	b = trace_held_batch(h, end);
	err = trace_synth_batch(synth, &b);
	return !err && end < h->nr && trace_held_is_run(h, end)
		     ? trace_synth_arrive(synth, &b, h->items[end])
		     : err;
}

/** Emit what the earliest unit has up to its next time, and on while that is before @p until. */
static enum clew_err run_first(struct trace_merge *m, uint64_t until)
{
	uint32_t unit = m->heap[0];
	struct waiting *w = &m->units[unit];
	struct trace_held *h = w->first;
	size_t end = end_of_first(m, until);
	enum clew_err err = run_part(m, unit, end);

	if (end < h->nr)
		w->key = w->next_key;
	h->at = end;
	if (end == h->nr) {
		m->streams[w->stream].held_bytes -= h->bytes;
		drop_first(w);
	}
	if (w->first) {
		sift_down(m);
		return err;
	}
	w->is_in_heap = false;
	heap_remove_first(m);
	return err ? err : fill(m, w->stream);
}

static enum clew_err fill_all(struct trace_merge *m)
{
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; !err && i < m->nr_streams; i++)
		err = fill(m, i);
	m->is_filled = true;
	return err;
}

enum clew_err trace_merge_until(struct trace_merge *m, struct clew_perf_ns time)
{
	enum clew_err err = m->is_filled ? CLEW_OK : fill_all(m);

	while (!err && m->nr_heap && m->units[m->heap[0]].key < time.ns)
		err = run_first(m, time.ns);
	return err;
}

enum clew_err trace_merge_rest(struct trace_merge *m)
{
	enum clew_err err = m->is_filled ? CLEW_OK : fill_all(m);

	while (!err && m->nr_heap)
		err = run_first(m, UINT64_MAX);
	return err;
}

/* --- whether --- */

static bool has_timestamps(const struct trace_unit *u)
{
	return u->is_decodable && u->has_timestamps;
}

/** Can all units' times be compared with the recorded ones? */
static bool is_in_ns(const struct trace_events *e)
{
	struct trace_input *t = e->trace;
	struct clew_perf_ns time;

	if (!e->opts.recorded)
		return false;
	for (size_t i = 0; i < t->nr_units; i++) {
		if (has_timestamps(&t->units[i]) &&
		    !trace_events_time(e, i, (struct clew_ticks){1}, &time))
			return false;
	}
	return true;
}

static size_t nr_timestamped(const struct trace_input *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr_units; i++)
		nr += has_timestamps(&t->units[i]);
	return nr;
}

static enum clew_err init(struct trace_merge *m, const struct trace_decode_opts *opts)
{
	struct trace_input *t = m->events->trace;
	struct trace_decode_opts mine = *opts;
	enum clew_err err;

	mine.nr_threads = 1;
	mine.batch = take_batch;
	mine.unit_end = take_end;
	mine.ops = take_ops;
	mine.ops_end = take_ops_end;
	mine.ctx = m;
	m->plain = *opts;
	err = trace_decoding_new_streams(&m->decoding, t, &mine);
	if (err || !m->decoding)
		return err;
	m->nr_streams = trace_decoding_streams(m->decoding);
	m->streams = mem_calloc(m->nr_streams + 1, sizeof(*m->streams));
	m->units = mem_calloc(t->nr_units + 1, sizeof(*m->units));
	m->heap = mem_calloc(t->nr_units + 1, sizeof(*m->heap));
	if (!m->streams || !m->units || !m->heap)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < t->nr_units; i++)
		m->units[i].last = &m->units[i].first;
	return CLEW_OK;
}

enum clew_err trace_merge_new(struct trace_merge **ret, struct trace_events *e,
			      const struct trace_decode_opts *opts)
{
	bool is_ns = is_in_ns(e);
	struct trace_merge *m;
	enum clew_err err;

	*ret = NULL;
	if (e->opts.itrace.is_timeless || e->opts.fold != TRACE_OPS_EACH ||
	    nr_timestamped(e->trace) < (is_ns ? 1 : 2))
		return CLEW_OK;
	m = mem_zalloc(sizeof(*m));
	if (!m)
		return CLEW_NO_MEMORY;
	m->events = e;
	m->is_ns = is_ns;
	err = init(m, opts);
	if (err || !m->decoding)
		trace_merge_free(m);
	else
		*ret = m;
	return err;
}

bool trace_merge_is_with_recorded(const struct trace_merge *m)
{
	return m->is_ns;
}

void trace_merge_free(struct trace_merge *m)
{
	if (!m)
		return;
	trace_decoding_free(m->decoding);
	for (size_t i = 0; m->units && i < m->events->trace->nr_units; i++) {
		while (m->units[i].first)
			drop_first(&m->units[i]);
		trace_held_blocks_put(m->units[i].blocks);
	}
	for (size_t i = 0; m->streams && i < m->nr_streams; i++)
		vec_done(&m->streams[i]);
	mem_free(m->units);
	mem_free(m->streams);
	mem_free(m->heap);
	mem_free(m);
}
