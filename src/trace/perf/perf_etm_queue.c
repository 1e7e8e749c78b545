/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/perf_etm_queue.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/search.h"
#include "perfdata/perf_file.h"

/*
 * Trace lies in AUXTRACE records, as the recorder took it from the rings; AUX records say which
 * bytes of a ring are trace, and when that was. Both count the ring's bytes from the beginning. A
 * ring belongs to one CPU, or to one thread.
 */

static uint64_t key_of(uint32_t cpu, uint32_t tid)
{
	return cpu != PE_NONE ? cpu : (uint64_t)tid << 32 | PE_NONE;
}

/** What is left out is the end: no trace is taken for that of another time. */
static bool has_room(struct pe_queues *q, uint64_t bytes)
{
	if (!q->is_full)
		q->is_full = !budget_account_take(&q->account, bytes, "trace that comes later in");
	return !q->is_full;
}

/** The ring's number; PE_NONE: no memory. */
static uint32_t queue_of(struct pe_queues *q, uint64_t key)
{
	uint64_t *at = map_u64_get(&q->by_key, key);

	if (at)
		return (uint32_t)*at;
	return map_u64_put(&q->by_key, key, q->nr) ? q->nr++ : PE_NONE;
}

/** ID_INDEX tells the ring of each event. */
enum clew_err pe_queues_take_ids(struct pe_queues *q, const struct perf_record *r)
{
	struct perf_id_index x;

	if (perf_id_index_parse(r, &x))
		return CLEW_BAD_FILE;
	for (uint64_t i = 0; i < x.nr; i++) {
		struct perf_id_index_entry e = perf_id_index_get(&x, i);
		uint32_t cpu = e.cpu < PE_NONE ? (uint32_t)e.cpu : PE_NONE;

		if (cpu == PE_NONE && e.tid >= PE_NONE)
			continue;
		if (!has_room(q, BUDGET_TABLE_BYTES))
			return CLEW_OK;
		if (!map_u64_put(&q->by_event, e.id, key_of(cpu, (uint32_t)e.tid)))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err pe_queues_take_buffer(struct pe_queues *q, const struct perf_record *r,
				    struct clew_diag *diag)
{
	struct pe_buffer b = {.data = r->payload.pos,
			      .bytes = bytes_left(&r->payload),
			      .at = r->offset + r->size,
			      .order = (uint32_t)q->buffers.nr};
	struct perf_auxtrace x;

	if (perf_auxtrace_parse(r, &x) != CLEW_OK)
		return CLEW_OK;
	if (q->buffers.nr >= PE_MAX_BUFFERS)
		return clew_fail(diag, CLEW_LIMIT, r->offset,
				 "more trace buffers than any recording");
	/* Sorting takes as much again. */
	if (!has_room(q, 3 * sizeof(b) + BUDGET_TABLE_BYTES))
		return CLEW_OK;
	b.offset = x.offset;
	q->has_cpus |= x.cpu != PE_NONE;
	q->is_of_all |= x.cpu != PE_NONE && x.tid == PE_NONE;
	b.queue = queue_of(q, key_of(x.cpu, x.tid));
	if (b.queue == PE_NONE || !vec_push(&q->buffers, b))
		return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	if (!r->block)
		return CLEW_OK;
	q->held_bytes += b.bytes;
	if (q->held_bytes > budget_part(q->account.budget, PE_MAX_HELD_BYTES))
		return clew_fail(diag, CLEW_LIMIT, r->offset,
				 "over 1 GiB of trace in a pipe, or a quarter of --max-memory: "
				 "write it to a file first");
	if (!vec_push(&q->held, r->block))
		return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	perf_block_hold(r->block);
	return CLEW_OK;
}

enum clew_err pe_queues_take_aux(struct pe_queues *q, const struct perf_record *r,
				 const struct perf_sample_id *id, uint64_t time)
{
	struct pe_chunk c = {.time = time,
			     .at = r->offset,
			     .buffer = PE_NONE,
			     .cpu = id->cpu,
			     .tid = id->tid,
			     .event = id->id,
			     .order = (uint32_t)q->chunks.nr};
	struct perf_aux aux;

	if (perf_aux_parse(r, &aux) != CLEW_OK || q->chunks.nr >= PE_MAX_CHUNKS)
		return CLEW_OK;
	c.flags = (uint32_t)aux.flags;
	c.bytes = aux.size;
	c.offset = aux.offset;
	/* The ring was written over: what is told is where the trace ends. */
	if (aux.flags & PERF_AUX_FLAG_OVERWRITE) {
		c.bytes = aux.size < aux.offset ? aux.size : aux.offset;
		c.offset -= c.bytes;
	}
	if (c.bytes > UINT64_MAX - c.offset)
		return CLEW_OK; /* no ring is that long */
	if (!has_room(q, 3 * sizeof(c)))
		return CLEW_OK;
	return vec_push(&q->chunks, c) ? CLEW_OK : CLEW_NO_MEMORY;
}

static int by_place(const void *x, const void *y)
{
	const struct pe_buffer *a = x, *b = y;

	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_time(const void *x, const void *y)
{
	const struct pe_chunk *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/** The ring the record was written for: its event's, the CPU's, the thread's, or the only one. */
static uint32_t ring_of(const struct pe_queues *q, const struct pe_chunk *c)
{
	uint64_t *key = map_u64_get(&q->by_event, c->event),
		 *at = key ? map_u64_get(&q->by_key, *key) : NULL;

	if (!at && c->cpu != PE_NONE)
		at = map_u64_get(&q->by_key, key_of(c->cpu, 0));
	if (!at)
		at = map_u64_get(&q->by_key, key_of(PE_NONE, c->tid));
	if (at)
		return (uint32_t)*at;
	return q->nr == 1 && (!q->has_cpus || c->cpu == PE_NONE) ? 0 : PE_NONE;
}

static bool ends_after(const struct pe_buffer *b, uint32_t queue, uint64_t offset)
{
	if (b->queue != queue)
		return b->queue > queue;
	return b->offset > offset || offset - b->offset < b->bytes;
}

/** The first buffer of the ring that ends after @p offset. */
static uint32_t buffer_at(const struct pe_queues *q, uint32_t queue, uint64_t offset)
{
	const struct pe_buffer *b = q->buffers.data;
	size_t at = search_first(q->buffers.nr, i, ends_after(&b[i], queue, offset));

	return at < q->buffers.nr && b[at].queue == queue ? (uint32_t)at : PE_NONE;
}

/** Sizes are filled up to 8: what lies behind a buffer begins with the next one. */
static void trim(struct pe_queues *q)
{
	for (size_t i = 1; i < q->buffers.nr; i++) {
		struct pe_buffer *b = &q->buffers.data[i - 1];
		const struct pe_buffer *next = b + 1;

		if (b->queue == next->queue && b->offset < next->offset &&
		    next->offset - b->offset < b->bytes)
			b->bytes = next->offset - b->offset;
	}
}

enum clew_err pe_queues_close(struct pe_queues *q)
{
	clew_auto(mem_free_at) uint64_t *last = mem_calloc(q->nr + 1, sizeof(*last));

	if (!last)
		return CLEW_NO_MEMORY;
	if (q->buffers.nr)
		qsort(q->buffers.data, q->buffers.nr, sizeof(*q->buffers.data), by_place);
	trim(q);
	if (q->chunks.nr)
		qsort(q->chunks.data, q->chunks.nr, sizeof(*q->chunks.data), by_time);
	vec_for_each (&q->chunks, c) {
		c->queue = ring_of(q, c);
		if (c->queue == PE_NONE)
			continue;
		c->since = last[c->queue];
		if (!c->bytes)
			continue;
		last[c->queue] = c->time;
		c->buffer = buffer_at(q, c->queue, c->offset);
	}
	return CLEW_OK;
}

void pe_queues_done(struct pe_queues *q)
{
	vec_for_each (&q->held, b)
		perf_block_release(*b);
	map_u64_done(&q->by_event);
	map_u64_done(&q->by_key);
	vec_done(&q->buffers);
	vec_done(&q->chunks);
	vec_done(&q->held);
	budget_account_done(&q->account);
}
