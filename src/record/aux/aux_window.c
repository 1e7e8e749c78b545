/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_window.h"

#include <string.h>

enum {
	MAX_KEPT = 64 * 1024,
	/* Fewer equal bytes may be chance: trace has runs. */
	MIN_PROOF = 64,
};

size_t aux_window_keep(size_t area)
{
	return area < MAX_KEPT ? area : MAX_KEPT;
}

void aux_window_parts(const struct aux_window *w, const uint8_t *area, size_t size,
		      struct bytes ret[2])
{
	bytes_of_ring(area, size, w->from, (size_t)(w->to - w->from), ret);
}

/* The last @p nr bytes before the old head, as they were (zero, before the first snapshot) and as
 * they are. */
static bool is_unchanged(const struct aux_window_state *s, const uint8_t *area, size_t nr)
{
	static const uint8_t zero[256];
	struct bytes now[2];
	size_t at = s->nr_before ? s->nr_before - nr : 0;

	bytes_of_ring(area, s->area, s->head - nr, nr, now);
	for (int i = 0; i < 2; i++) {
		size_t left = bytes_left(&now[i]);

		for (size_t step; left; left -= step, now[i].pos += step, at += step) {
			step = !s->nr_before && left > sizeof(zero) ? sizeof(zero) : left;
			if (memcmp(now[i].pos, s->nr_before ? s->before + at : zero, step) != 0)
				return false;
		}
	}
	return true;
}

/* From head to head: bytes written, or the least number beyond a turn where there was one. */
static uint64_t written_by_offset(const struct aux_window_state *s, const uint8_t *area,
				  const struct aux_window_ask *ask)
{
	uint64_t d = (ask->head - s->head) & (s->area - 1);
	size_t keep = s->area - (size_t)d;

	if (s->has_true_sizes && ask->has_sum && (ask->sum & (s->area - 1)) == d)
		return ask->sum;
	if (s->nr_before && keep > s->nr_before)
		keep = s->nr_before;
	if (keep >= MIN_PROOF && is_unchanged(s, area, keep))
		return d;
	return s->area + d;
}

struct aux_window aux_window_next(const struct aux_window_state *s, const uint8_t *area,
				  const struct aux_window_ask *ask)
{
	bool is_counter = s->is_counter || ask->head > s->area;
	uint64_t written = is_counter ? ask->head - s->head : written_by_offset(s, area, ask);
	uint64_t n = written < s->area ? written : s->area;
	struct aux_window w = {.to = s->count + written};

	if (ask->limit && n > ask->limit)
		n = ask->limit;
	w.from = w.to - n;
	w.is_full = n < written || (!is_counter && written >= s->area);
	return w;
}

void aux_window_taken(struct aux_window_state *s, const uint8_t *area, uint64_t head,
		      const struct aux_window *w)
{
	size_t nr = aux_window_keep(s->area);
	struct bytes part[2];

	s->is_counter |= head > s->area;
	s->head = head;
	s->count = w->to;
	if (s->is_counter || !s->before)
		return;
	bytes_of_ring(area, s->area, head - nr, nr, part);
	memcpy(s->before, part[0].pos, bytes_left(&part[0]));
	memcpy(s->before + bytes_left(&part[0]), part[1].pos, bytes_left(&part[1]));
	s->nr_before = nr;
}
