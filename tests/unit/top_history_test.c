/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/top_history.h"

#include "perfdata/perf_abi.h"
#include "unit/tap.h"

static void add(struct top_history *h, const char *text, uint64_t now)
{
	top_history_add(h, text, strlen(text));
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

/* Without the record that ends the start, after which the rounds come. */
static const char *rounds_of(const struct top_history *h, uint64_t from, struct buf *out)
{
	buf_clear(out);
	top_history_copy(h, from, out);
	return buf_cstr(out) + h->start.nr;
}

int main(void)
{
	struct top_history h = {.max_bytes = 10}, none = {0};
	struct buf out = {0};

	add(&none, "abc", 1);
	CHECK(!none.round.nr && !none.rounds.nr, "nothing is kept without room");
	begin(&h, "start1");
	CHECK(h.nr_starts == 1 && !h.is_in_start, "a start ends with its last record");
	add(&h, "aa", 0);
	add(&h, "bb", 10);
	add(&h, "", 15);
	add(&h, "cccc", 20);
	CHECK_STR(rounds_of(&h, 0, &out), "aabbcccc", "rounds in order");
	CHECK(!strncmp(buf_cstr(&out), "start1", 6), "after the start");
	CHECK_STR(rounds_of(&h, 11, &out), "cccc", "the last ones");
	add(&h, "dddd", 30);
	CHECK_STR(rounds_of(&h, 0, &out), "ccccdddd", "the oldest go");
	add(&h, "0123456789ab", 40);
	CHECK_STR(rounds_of(&h, 0, &out), "", "also one that is larger than all");
	add(&h, "ee", 50);
	begin(&h, "start2");
	CHECK_STR(rounds_of(&h, 0, &out), "ee", "rounds stay with another start");
	CHECK(!strncmp(buf_cstr(&out), "start2", 6) && h.nr_starts == 2, "which is the newest");
	add(&h, "f", 0);
	CHECK_STR(rounds_of(&h, 0, &out), "eef", "what is being written comes last");
	top_history_done(&h);
	top_history_done(&none);
	buf_done(&out);
	return tap_done();
}
