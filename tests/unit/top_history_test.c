/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/top_history.h"

#include "perfdata/perf_abi.h"
#include "unit/tap.h"

enum { MAX = 8192, PIECE = 512 };

/* @p letters: a piece of each. */
static void add(struct top_history *h, const char *letters, uint64_t now)
{
	char piece[PIECE];

	for (; *letters; letters++) {
		memset(piece, *letters, sizeof(piece));
		top_history_add(h, piece, sizeof(piece));
	}
	if (now)
		top_history_round(h, now);
}

static void begin(struct top_history *h, const char *start)
{
	const struct perf_event_header end = {.type = PERF_RECORD_FINISHED_INIT,
					      .size = sizeof(end)};

	top_history_begin(h);
	add(h, start, 0);
	top_history_add(h, &end, sizeof(end));
}

/* The letters of what is kept after the start, or of that. */
static const char *letters_of(const struct top_history *h, uint64_t from, bool of_start)
{
	static char letters[MAX / PIECE + 1];
	struct buf out = {0};
	size_t nr = 0, at, end;

	top_history_copy(h, from, &out);
	at = of_start ? 0 : h->start.nr;
	end = of_start ? h->start.nr - sizeof(struct perf_event_header) : out.nr;
	for (; at < end; at += PIECE)
		letters[nr++] = out.data[at];
	letters[nr] = 0;
	buf_done(&out);
	return letters;
}

static void test_rounds(void)
{
	struct top_history h = {.max_bytes = MAX}, none = {0};

	add(&none, "abc", 1);
	CHECK(!none.round.nr && !none.rounds.nr, "nothing is kept without room");
	begin(&h, "x");
	CHECK(h.nr_starts == 1 && !h.is_in_start, "a start ends with its last record");
	add(&h, "a", 0);
	add(&h, "b", 10);
	add(&h, "", 15);
	add(&h, "cc", 20);
	CHECK_STR(letters_of(&h, 0, false), "abcc", "rounds in order");
	CHECK_STR(letters_of(&h, 0, true), "x", "after the start");
	CHECK_STR(letters_of(&h, 11, false), "cc", "the last ones");
	add(&h, "dddd", 30);
	add(&h, "eeee", 40);
	CHECK_STR(letters_of(&h, 0, false), "abccddddeeee", "as many as fit");
	add(&h, "fffff", 50);
	CHECK_STR(letters_of(&h, 0, false), "ddddeeee",
		  "the oldest go; a round of more than a quarter is not kept");
	add(&h, "g", 60);
	begin(&h, "y");
	CHECK_STR(letters_of(&h, 41, false), "g", "rounds stay with another start");
	CHECK(!strcmp(letters_of(&h, 0, true), "y") && h.nr_starts == 2, "which is the newest");
	add(&h, "h", 0);
	CHECK_STR(letters_of(&h, 41, false), "gh", "what is being written comes last");
	h.window_ns = 100;
	top_history_round(&h, 150);
	CHECK_STR(letters_of(&h, 0, false), "gh", "rounds of the window stay");
	top_history_round(&h, 161);
	CHECK_STR(letters_of(&h, 0, false), "h", "older ones do not");
	begin(&h, "12345");
	CHECK(!h.max_bytes && !top_history_bytes(&h),
	      "a start of more than a quarter: nothing is kept");
	add(&h, "i", 200);
	CHECK(!top_history_bytes(&h), "from then on");
	top_history_done(&h);
	top_history_done(&none);
}

static void test_flood(void)
{
	struct top_history h = {.max_bytes = 1 << 20};
	uint64_t most = 0, seed = 1;
	char piece[4096] = {0};

	begin(&h, "x");
	for (uint64_t i = 0; i < 200000; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		top_history_add(&h, piece, 8 + (seed >> 33) % 4000 / 8 * 8);
		if (seed >> 60 == 0)
			top_history_round(&h, i + 1);
		if (i % 50000 == 49999)
			begin(&h, "y");
		if (top_history_bytes(&h) > most)
			most = top_history_bytes(&h);
	}
	CHECK(most <= 1 << 20, "of 400 MB in rounds of any size, no more than a MiB is ever held");
	CHECK(most > 1 << 19 && h.rounds.nr, "and much of it is used");
	top_history_done(&h);
}

int main(void)
{
	test_rounds();
	test_flood();
	return tap_done();
}
