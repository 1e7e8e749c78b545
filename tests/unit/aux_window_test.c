/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_window.h"

#include <stdio.h>

#include "unit/tap.h"

/* A producer that writes words counted from 1 round and round: each word tells its place in the
 * stream, so that a window can be judged. */

enum { AREA = 16 * 1024, WORD = 8, NR_WORDS = AREA / WORD, ROUNDS = 1000 };

static uint64_t area[NR_WORDS];

struct producer {
	uint64_t nr; /* words written */
	bool is_counter;
};

static void produce(struct producer *p, size_t nr)
{
	while (nr--) {
		area[p->nr % NR_WORDS] = p->nr + 1;
		p->nr++;
	}
}

static uint64_t head_of(const struct producer *p)
{
	return p->is_counter ? p->nr * WORD : p->nr % NR_WORDS * WORD;
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 8;
}

struct verdict {
	uint64_t last, nr_windows, nr_full, nr_gaps, nr_twice, nr_broken;
};

static void judge(struct verdict *v, const struct aux_window *w, const struct producer *p)
{
	struct bytes part[2];
	uint64_t expect = 0, word;

	aux_window_parts(w, (const uint8_t *)area, AREA, part);
	if (w->from == w->to)
		return;
	for (int i = 0; i < 2; i++) {
		for (; bytes_left(&part[i]); part[i].pos += WORD) {
			memcpy(&word, part[i].pos, WORD);
			if (!expect && word > v->last + 1 && !w->is_full)
				v->nr_gaps++;
			if (word <= v->last)
				v->nr_twice++;
			v->nr_broken += expect && word != expect;
			expect = word + 1;
		}
	}
	v->nr_broken += expect != p->nr + 1; /* the newest is there */
	v->last = p->nr;
	v->nr_windows++;
	v->nr_full += w->is_full;
}

static struct verdict run(bool is_counter, bool is_known, size_t unit, unsigned int seed)
{
	static uint8_t before[AREA];
	struct aux_window_state s = {
		.area = AREA, .is_counter = is_counter && is_known, .before = before};
	struct producer p = {.is_counter = is_counter};
	struct verdict v = {0};

	memset(area, 0, sizeof(area));
	for (int i = 0; i < ROUNDS; i++) {
		/* mostly less than a turn, now and then several; never exactly what is there */
		size_t most = next_random(&seed) % 8 ? NR_WORDS / 2 : NR_WORDS * 5;
		struct aux_window_ask ask = {0};
		struct aux_window w;

		produce(&p, next_random(&seed) % (most / unit) * unit);
		ask.head = head_of(&p);
		w = aux_window_next(&s, (const uint8_t *)area, &ask);
		judge(&v, &w, &p);
		aux_window_taken(&s, (const uint8_t *)area, ask.head, &w);
	}
	return v;
}

static void test_random(void)
{
	static const size_t units[] = {64 / WORD, 72 / WORD};

	for (size_t i = 0; i < 2; i++) {
		for (int kind = 0; kind < 3; kind++) {
			bool is_counter = kind > 0;
			const char *name = kind == 0 ? "offsets"
					 : kind == 1 ? "counts"
						     : "counts, not known as such";
			struct verdict v = run(is_counter, kind == 1, units[i], 7 + (unsigned)kind);

			CHECK(!v.nr_broken && !v.nr_gaps, "%s, units of %zu: whole windows, no gap",
			      name, units[i] * WORD);
			CHECK(v.nr_full > 20 && v.nr_windows - v.nr_full > 500,
			      "some overwritten, most not: %d and %d", (int)v.nr_full,
			      (int)(v.nr_windows - v.nr_full));
			/* an offset within 63 bytes of a turn cannot be told from one */
			CHECK(v.nr_twice <= (is_counter ? 0 : v.nr_windows * 7 / 100),
			      "nothing twice: %d words", (int)v.nr_twice);
		}
	}
}

static void test_corners(void)
{
	static uint8_t before[AREA];
	struct aux_window_state s = {.area = AREA, .before = before};
	struct producer p = {0};
	struct aux_window_ask ask = {0};
	struct aux_window w;

	memset(area, 0, sizeof(area));
	w = aux_window_next(&s, (const uint8_t *)area, &ask);
	CHECK(w.from == w.to, "nothing written: nothing taken");
	produce(&p, 100);
	ask.head = head_of(&p);
	ask.limit = 80;
	w = aux_window_next(&s, (const uint8_t *)area, &ask);
	CHECK(w.from == 720 && w.to == 800 && w.is_full, "a limit keeps the newest");
	aux_window_taken(&s, (const uint8_t *)area, ask.head, &w);
	ask.limit = 0;
	w = aux_window_next(&s, (const uint8_t *)area, &ask);
	CHECK(w.from == 800 && w.to == 800, "nothing new since: nothing twice");
	produce(&p, 3 * NR_WORDS);
	w = aux_window_next(&s, (const uint8_t *)area, &ask);
	CHECK(w.to - w.from == AREA && w.is_full, "whole turns with the head where it was");
	ask.has_sum = true;
	ask.sum = 3 * AREA;
	s.has_true_sizes = true;
	w = aux_window_next(&s, (const uint8_t *)area, &ask);
	CHECK(w.to == 800 + 3 * AREA && w.is_full, "true sizes of the AUX records count the turns");
	ask.sum = 3 * AREA + 8;
	w = aux_window_next(&s, (const uint8_t *)area, &ask);
	CHECK_EQ(w.to, 800 + AREA, "a sum that the head denies is not believed");
}

int main(void)
{
	test_random();
	test_corners();
	return tap_done();
}
