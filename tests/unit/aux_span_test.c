/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_span.h"

#include "unit/tap.h"

/* Records of 100 bytes each, at times 1000, 2000, ... */
static struct rec_aux_seen seen(uint64_t nr)
{
	struct rec_aux_seen s = {0};

	for (; s.nr < nr; s.nr++)
		s.last[s.nr % REC_AUX_SEEN_KEPT] =
			(struct rec_aux_mark){100 * (s.nr + 1), 100, 1000 * (s.nr + 1)};
	return s;
}

static bool is(struct aux_span s, uint64_t from, uint64_t to)
{
	return s.from_ns == from && s.to_ns == to;
}

int main(void)
{
	struct rec_aux_seen s = seen(10);
	struct aux_span_ask ask = {.bytes = 400, .since_ns = 6000, .nr_before = 6};

	CHECK(is(aux_span_of(&s, &ask), 6000, 10000), "all since the last snapshot");
	ask.is_full = true;
	ask.nr_before = 0;
	CHECK(is(aux_span_of(&s, &ask), 0, 10000), "overwritten: not known by an offset alone");
	for (int i = 0; i < 2; i++) {
		ask.is_counter = i == 0;
		ask.has_true_sizes = i == 1;
		ask.bytes = 400;
		CHECK(is(aux_span_of(&s, &ask), 6000, 10000), "whole records");
		ask.bytes = 399;
		CHECK(is(aux_span_of(&s, &ask), 7000, 10000), "one is cut: from its end");
		ask.bytes = 50;
		CHECK(is(aux_span_of(&s, &ask), 10000, 10000), "the last one is cut");
	}
	s = seen(1000);
	ask.bytes = 90000;
	CHECK(is(aux_span_of(&s, &ask), 1000 * (1000 - REC_AUX_SEEN_KEPT + 1), 1000000),
	      "more records than are kept: at least since the oldest");
	ask.nr_before = 1000;
	CHECK(is(aux_span_of(&s, &ask), 0, 0), "no record of it: nothing known");
	return tap_done();
}
