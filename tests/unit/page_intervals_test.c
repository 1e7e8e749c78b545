/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_intervals.h"

#include "perfdata/perf_record.h"
#include "unit/tap.h"

/* Intervals of the timeline where there are more than are shown: which ones are. */

enum { PID = 7, START = 1000, SHORT = 10, LONG = 1000, NR = 100, NR_LONG = 20 };

static enum clew_err take(struct page_intervals *v, uint32_t tid, bool is_out, uint64_t time)
{
	static const struct perf_event_header header = {.size = sizeof(header)};
	const struct ana_event e = {
		.record = {.data = (const uint8_t *)&header,
			   .type = PERF_RECORD_SWITCH,
			   .misc = is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0,
			   .size = sizeof(header)},
		.time = {time},
		.pid = PID,
		.tid = tid,
	};

	return page_intervals_record(v, &e, START);
}

/* Each thread runs and sleeps by turns: NR intervals, one in five of them LONG. */
static void make(struct page_intervals *v, uint32_t nr_threads)
{
	enum clew_err err = CLEW_OK;
	uint64_t time = START;

	for (unsigned int i = 0; i <= NR; i++) {
		for (uint32_t tid = 1; tid <= nr_threads; tid++)
			err = err ? err : take(v, tid, i % 2, time);
		time += i % 5 == 4 ? LONG : SHORT;
	}
	CHECK(err == CLEW_OK, "switches of %u threads", nr_threads);
}

struct seen {
	uint64_t nr, least;
};

static void see(void *ctx, const struct page_interval *i)
{
	struct seen *s = ctx;

	s->nr++;
	s->least = i->length < s->least ? i->length : s->least;
}

/* Thread 1 has samples, the others have none. */
static void check(uint32_t nr_threads, uint64_t max, uint64_t want_shown, uint64_t want_hidden)
{
	static struct page_intervals v;
	struct map_u64 thread_of = {0};
	struct seen s = {.least = UINT64_MAX};
	enum clew_err err;

	v = (struct page_intervals){0};
	make(&v, nr_threads);
	CHECK(map_u64_put(&thread_of, (uint64_t)PID << 32 | 1, 0), "its number");
	err = page_intervals_finish(&v, START, v.last, &thread_of, max);
	if (err == CLEW_OK)
		err = page_intervals_each(&v, &thread_of, see, &s);
	CHECK(err == CLEW_OK && s.nr == want_shown && v.nr_shown == want_shown,
	      "%u threads, at most %llu: %llu are shown, of %llu", nr_threads,
	      (unsigned long long)max, (unsigned long long)s.nr, (unsigned long long)want_shown);
	CHECK(v.nr_hidden == want_hidden, "%llu are not, of %llu", (unsigned long long)v.nr_hidden,
	      (unsigned long long)want_hidden);
	CHECK(s.least == (want_hidden ? LONG : SHORT), "the longest are shown");
	map_u64_done(&thread_of);
	page_intervals_done(&v);
}

int main(void)
{
	check(1, NR, NR, 0);
	check(1, NR - 1, NR_LONG, NR - NR_LONG);
	check(1, NR_LONG, NR_LONG, NR - NR_LONG);
	/* Threads without samples take no room, and are not missed. */
	check(5, NR, NR, 0);
	check(5, NR - 1, NR_LONG, NR - NR_LONG);
	return tap_done();
}
