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

void top_history_add(struct top_history *h, const void *data, size_t size)
{
	struct buf *to = h->is_in_start ? &h->start : &h->round;

	if (!h->max_bytes)
		return;
	buf_add(to, data, size);
	if (to->is_failed) {
		top_history_done(h);
	} else if (h->is_in_start && is_end_of_start(data, size)) {
		h->is_in_start = false;
		h->nr_starts++;
	}
}

static void drop_oldest(struct top_history *h)
{
	size_t nr = 0;

	while (nr < h->rounds.nr && h->bytes > h->max_bytes) {
		h->bytes -= h->rounds.data[nr].records.nr;
		buf_done(&h->rounds.data[nr++].records);
	}
	if (nr)
		memmove(h->rounds.data, h->rounds.data + nr,
			(h->rounds.nr -= nr) * sizeof(*h->rounds.data));
}

void top_history_round(struct top_history *h, uint64_t now_ns)
{
	struct top_round r = {.at_ns = now_ns, .records = h->round};

	if (!h->max_bytes || !h->round.nr)
		return;
	if (!vec_push(&h->rounds, r)) {
		top_history_done(h);
		return;
	}
	h->bytes += r.records.nr;
	h->round = (struct buf){0};
	drop_oldest(h);
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
