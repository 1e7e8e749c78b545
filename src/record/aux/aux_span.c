/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_span.h"

static const struct rec_aux_mark *mark_at(const struct rec_aux_seen *s, uint64_t i)
{
	return &s->last[i % REC_AUX_SEEN_KEPT];
}

/* The bytes of record @p i. */
static uint64_t step_of(const struct rec_aux_seen *s, const struct aux_span_ask *ask, uint64_t i)
{
	return ask->is_counter ? mark_at(s, i)->offset - mark_at(s, i - 1)->offset
			       : mark_at(s, i)->size;
}

/* Back from the newest record to the one in which the window begins. */
static uint64_t begin_of(const struct rec_aux_seen *s, const struct aux_span_ask *ask)
{
	uint64_t oldest = s->nr > REC_AUX_SEEN_KEPT ? s->nr - REC_AUX_SEEN_KEPT : 0;
	uint64_t covered = 0, i = s->nr - 1;

	for (; i > oldest && i >= ask->nr_before; i--) {
		covered += step_of(s, ask, i);
		if (covered > ask->bytes)
			break;
		if (covered == ask->bytes)
			return mark_at(s, i - 1)->time;
	}
	return mark_at(s, i)->time;
}

struct aux_span aux_span_of(const struct rec_aux_seen *s, const struct aux_span_ask *ask)
{
	struct aux_span span = {0};

	if (s->nr == ask->nr_before || !ask->bytes)
		return span; /* no record says anything of it */
	span.to_ns = mark_at(s, s->nr - 1)->time;
	if (!ask->is_full)
		span.from_ns = ask->since_ns;
	else if (ask->is_counter || ask->has_true_sizes)
		span.from_ns = begin_of(s, ask);
	return span;
}
