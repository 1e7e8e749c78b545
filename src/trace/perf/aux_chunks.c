/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_chunks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/search.h"
#include "base/u64.h"
#include "perfdata/perf_file.h"

/*
 * Trace lies in AUXTRACE records, as the recorder took it from the rings; AUX records say which
 * bytes of a ring are trace, and when that was. Both count the ring's bytes from the beginning. A
 * ring belongs to one CPU, or to one thread.
 */

/** What is omitted is the end: no trace is taken for that of another time. */
static bool has_room(struct aux_chunks *q, uint64_t bytes)
{
	if (!q->is_full)
		q->is_full = !budget_account_take(&q->account, bytes, "trace that comes later in");
	return !q->is_full;
}

/** The ring's number; AUX_NONE: no memory. */
static uint32_t ring_at(struct aux_chunks *q, uint32_t cpu, uint32_t tid)
{
	uint64_t key = perf_auxtrace_ring(cpu, tid), *at = map_u64_get(&q->by_key, key);
	struct aux_ring ring = {cpu, tid, 0, AUX_NONE};

	if (at)
		return (uint32_t)*at;
	return vec_push(&q->rings, ring) && map_u64_put(&q->by_key, key, q->rings.nr - 1)
		     ? (uint32_t)q->rings.nr - 1
		     : AUX_NONE;
}

/** ID_INDEX names the ring of each event. */
enum clew_err aux_chunks_take_ids(struct aux_chunks *q, const struct perf_record *r)
{
	struct perf_id_index x;

	if (perf_id_index_parse(r, &x))
		return CLEW_BAD_FILE;
	for (uint64_t i = 0; i < x.nr; i++) {
		struct perf_id_index_entry e = perf_id_index_get(&x, i);
		uint32_t cpu = e.cpu < AUX_NONE ? (uint32_t)e.cpu : AUX_NONE;

		if (cpu == AUX_NONE && e.tid >= AUX_NONE)
			continue;
		if (!has_room(q, BUDGET_TABLE_BYTES))
			return CLEW_OK;
		if (!map_u64_put(&q->by_event, e.id, perf_auxtrace_ring(cpu, (uint32_t)e.tid)))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err aux_chunks_take_buffer(struct aux_chunks *q, const struct perf_record *r,
				     struct clew_diag *diag)
{
	struct aux_buffer b = {.data = r->payload.pos,
			       .bytes = bytes_left(&r->payload),
			       .at = r->offset + r->size,
			       .order = (uint32_t)q->buffers.nr};
	struct perf_auxtrace x;

	if (perf_auxtrace_parse(r, &x) != CLEW_OK)
		return CLEW_OK;
	if (q->buffers.nr >= AUX_MAX_BUFFERS)
		return clew_fail(diag, CLEW_LIMIT, r->offset,
				 "more trace buffers than any recording");
	/* Sorting takes as much again. */
	if (!has_room(q, 3 * sizeof(b) + BUDGET_TABLE_BYTES))
		return CLEW_OK;
	b.offset = x.offset;
	q->has_cpus |= x.cpu != AUX_NONE;
	q->is_of_all |= x.cpu != AUX_NONE && x.tid == AUX_NONE;
	b.ring = ring_at(q, x.cpu, x.tid);
	if (b.ring == AUX_NONE || !vec_push(&q->buffers, b))
		return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	if (!r->block)
		return CLEW_OK;
	q->held_bytes += b.bytes;
	if (q->held_bytes > budget_part(q->account.budget, AUX_MAX_HELD_BYTES))
		return clew_fail(diag, CLEW_LIMIT, r->offset,
				 "over 1 GiB of trace in a pipe, or a quarter of --max-memory: "
				 "write it to a file first");
	if (!vec_push(&q->held, r->block))
		return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	perf_block_hold(r->block);
	return CLEW_OK;
}

enum clew_err aux_chunks_take_aux(struct aux_chunks *q, const struct perf_record *r,
				  const struct aux_beside *b)
{
	const struct perf_sample_id *id = b->id;
	struct aux_chunk c = {.time = b->time,
			      .at = r->offset,
			      .buffer = AUX_NONE,
			      .cpu = id->cpu,
			      .tid = id->tid,
			      .event = id->id,
			      .owner = b->owner,
			      .protocol = (uint8_t)b->protocol,
			      .order = (uint32_t)q->all.nr};
	struct perf_aux aux;

	if (perf_aux_parse(r, &aux) != CLEW_OK || q->all.nr >= AUX_MAX_CHUNKS)
		return CLEW_OK;
	c.flags = (uint32_t)aux.flags;
	c.bytes = aux.size;
	c.offset = aux.offset;
	/* The ring was written over: the record gives where the trace ends. */
	if (aux.flags & PERF_AUX_FLAG_OVERWRITE) {
		c.bytes = aux.size < aux.offset ? aux.size : aux.offset;
		c.offset -= c.bytes;
	}
	if (c.bytes > UINT64_MAX - c.offset)
		return CLEW_OK; /* no ring is that long */
	if (!has_room(q, 3 * sizeof(c)))
		return CLEW_OK;
	return vec_push(&q->all, c) ? CLEW_OK : CLEW_NO_MEMORY;
}

static int by_place(const void *x, const void *y)
{
	const struct aux_buffer *a = x, *b = y;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_time(const void *x, const void *y)
{
	const struct aux_chunk *a = x, *b = y;

	if (a->time.ns != b->time.ns)
		return a->time.ns < b->time.ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/** The ring the record was written for: its event's, the CPU's, the thread's, or the only one. */
static uint32_t ring_of(const struct aux_chunks *q, const struct aux_chunk *c)
{
	uint64_t *key = map_u64_get(&q->by_event, c->event),
		 *at = key ? map_u64_get(&q->by_key, *key) : NULL;

	if (!at && c->cpu != AUX_NONE)
		at = map_u64_get(&q->by_key, perf_auxtrace_ring(c->cpu, 0));
	if (!at)
		at = map_u64_get(&q->by_key, perf_auxtrace_ring(AUX_NONE, c->tid));
	if (at)
		return (uint32_t)*at;
	return q->rings.nr == 1 && (!q->has_cpus || c->cpu == AUX_NONE) ? 0 : AUX_NONE;
}

static bool ends_after(const struct aux_buffer *b, uint32_t ring, uint64_t offset)
{
	if (b->ring != ring)
		return b->ring > ring;
	return b->offset > offset || offset - b->offset < b->bytes;
}

uint32_t aux_chunks_buffer_at(const struct aux_chunks *q, uint32_t ring, uint64_t offset)
{
	const struct aux_buffer *b = q->buffers.data;
	size_t at = search_first(q->buffers.nr, i, ends_after(&b[i], ring, offset));

	return at < q->buffers.nr && b[at].ring == ring ? (uint32_t)at : AUX_NONE;
}

/** Sizes are filled up to 8: what lies past a buffer begins with the next one. */
static void trim(struct aux_chunks *q)
{
	for (size_t i = 1; i < q->buffers.nr; i++) {
		struct aux_buffer *b = &q->buffers.data[i - 1];
		const struct aux_buffer *next = b + 1;

		if (b->ring == next->ring && b->offset < next->offset &&
		    next->offset - b->offset < b->bytes)
			b->bytes = next->offset - b->offset;
	}
}

static void sort(struct aux_chunks *q)
{
	if (q->all.nr)
		qsort(q->all.data, q->all.nr, sizeof(*q->all.data), by_time);
}

enum clew_err aux_chunks_close(struct aux_chunks *q, uint32_t uncovered)
{
	clew_auto(mem_free_at) struct clew_perf_ns *last =
		mem_calloc(q->rings.nr + 1, sizeof(*last));

	if (!last)
		return CLEW_NO_MEMORY;
	if (q->buffers.nr)
		qsort(q->buffers.data, q->buffers.nr, sizeof(*q->buffers.data), by_place);
	trim(q);
	sort(q);
	vec_for_each (&q->all, c) {
		c->ring = ring_of(q, c);
		if (c->ring == AUX_NONE)
			continue;
		q->rings.data[c->ring].protocol = c->protocol;
		c->since = last[c->ring];
		if (!c->bytes)
			continue;
		last[c->ring] = c->time;
		c->buffer = aux_chunks_buffer_at(q, c->ring, c->offset);
	}
	if (!uncovered)
		return CLEW_OK;
	if (aux_chunks_add_uncovered(q, uncovered))
		return CLEW_NO_MEMORY;
	sort(q);
	return CLEW_OK;
}

/** Bytes of buffers in [@p from, @p end) of @p ring. @p before: of all buffers before each. */
static uint64_t held_in(const struct aux_chunks *q, const uint64_t *before, uint32_t ring,
			uint64_t from, uint64_t end)
{
	const struct aux_buffer *b = q->buffers.data, *last;
	uint32_t first = aux_chunks_buffer_at(q, ring, from);
	size_t past = search_first(q->buffers.nr, i,
				   b[i].ring > ring || (b[i].ring == ring && b[i].offset >= end));
	uint64_t sum;

	if (first == AUX_NONE || past <= first)
		return 0;
	last = &b[past - 1];
	sum = before[past] - before[first];
	if (b[first].offset < from)
		sum -= from - b[first].offset;
	if (end - last->offset < last->bytes)
		sum -= last->bytes - (end - last->offset);
	return sum;
}

bool aux_chunks_sum(const struct aux_chunks *q, uint64_t *ret_held, uint64_t *ret_missing)
{
	clew_auto(mem_free_at) uint64_t *before = mem_calloc(q->buffers.nr + 1, sizeof(*before));

	*ret_held = *ret_missing = 0;
	if (!before)
		return false;
	for (size_t i = 0; i < q->buffers.nr; i++)
		before[i + 1] = u64_sum(before[i], q->buffers.data[i].bytes);
	*ret_held = before[q->buffers.nr];
	vec_for_each (&q->all, c) {
		uint64_t end, held;

		if (c->is_uncovered || c->flags & PERF_AUX_FLAG_OVERWRITE ||
		    __builtin_add_overflow(c->offset, c->bytes, &end))
			continue;
		held = c->ring == AUX_NONE ? 0 : held_in(q, before, c->ring, c->offset, end);
		*ret_missing = u64_sum(*ret_missing, held < c->bytes ? c->bytes - held : 0);
	}
	return true;
}

void aux_chunks_done(struct aux_chunks *q)
{
	vec_for_each (&q->held, b)
		perf_block_release(*b);
	map_u64_done(&q->by_event);
	map_u64_done(&q->by_key);
	vec_done(&q->rings);
	vec_done(&q->buffers);
	vec_done(&q->all);
	vec_done(&q->held);
	budget_account_done(&q->account);
}
