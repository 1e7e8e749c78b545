/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/top_history.h"

#include <string.h>

#include "perfdata/perf_abi.h"

void top_history_begin(struct top_history *h)
{
	if (!h->max_bytes)
		return;
	buf_clear(&h->start);
	h->is_in_start = true;
}

/* The record that ends what a stream begins with is written alone. */
static bool is_end_of_start(const void *data, size_t size)
{
	struct perf_event_header header;

	if (size != sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	return header.type == PERF_RECORD_FINISHED_INIT;
}

/* What it takes of memory. */
static uint64_t bytes_of(const struct top_round *r)
{
	return sizeof(*r) + r->records.cap;
}

static bool is_old(const struct top_history *h, const struct top_round *r, uint64_t now_ns)
{
	return h->window_ns && now_ns > h->window_ns && r->at_ns < now_ns - h->window_ns;
}

static void drop_oldest(struct top_history *h, uint64_t now_ns)
{
	size_t nr = 0;

	while (nr < h->rounds.nr &&
	       (top_history_bytes(h) > h->max_bytes || is_old(h, &h->rounds.data[nr], now_ns))) {
		h->bytes -= bytes_of(&h->rounds.data[nr]);
		buf_done(&h->rounds.data[nr++].records);
	}
	if (nr)
		memmove(h->rounds.data, h->rounds.data + nr,
			(h->rounds.nr -= nr) * sizeof(*h->rounds.data));
}

/* A buffer has room for up to twice what is in it, so two of these fit. */
static bool has_room(const struct top_history *h, const struct buf *b, size_t size)
{
	uint64_t max = h->max_bytes / 4;

	return size <= max && b->nr <= max - size;
}

static void add_to_round(struct top_history *h, const void *data, size_t size)
{
	if (h->is_round_dropped)
		return;
	h->is_round_dropped = !has_room(h, &h->round, size);
	if (h->is_round_dropped)
		buf_done(&h->round);
	else
		buf_add(&h->round, data, size);
}

static void add_to_start(struct top_history *h, const void *data, size_t size)
{
	if (has_room(h, &h->start, size))
		buf_add(&h->start, data, size);
	else
		h->start.is_failed = true;
	if (!h->start.is_failed && is_end_of_start(data, size)) {
		h->is_in_start = false;
		h->nr_starts++;
	}
}

void top_history_add(struct top_history *h, const void *data, size_t size)
{
	if (!h->max_bytes)
		return;
	if (h->is_in_start)
		add_to_start(h, data, size);
	else
		add_to_round(h, data, size);
	if (h->start.is_failed || h->round.is_failed)
		top_history_done(h);
	drop_oldest(h, 0);
}

void top_history_round(struct top_history *h, uint64_t now_ns)
{
	struct top_round r = {.at_ns = now_ns, .records = h->round};

	h->is_round_dropped = false;
	if (h->max_bytes && h->round.nr) {
		if (!vec_push(&h->rounds, r)) {
			top_history_done(h);
			return;
		}
		h->bytes += bytes_of(&r);
		h->round = (struct buf){0};
	}
	drop_oldest(h, now_ns);
}

uint64_t top_history_bytes(const struct top_history *h)
{
	return h->bytes + h->start.cap + h->round.cap;
}

void top_history_copy(const struct top_history *h, uint64_t from_ns, struct buf *ret)
{
	buf_add(ret, h->start.data, h->start.nr);
	vec_for_each (&h->rounds, r) {
		if (r->at_ns >= from_ns)
			buf_add(ret, r->records.data, r->records.nr);
	}
	buf_add(ret, h->round.data, h->round.nr);
}

void top_history_done(struct top_history *h)
{
	vec_for_each (&h->rounds, r)
		buf_done(&r->records);
	vec_done(&h->rounds);
	buf_done(&h->round);
	buf_done(&h->start);
	*h = (struct top_history){0};
}
