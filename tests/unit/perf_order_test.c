/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_order.h"

#include "base/mem.h"
#include "make/perf_random.h"
#include "unit/tap.h"

/* Records of 16 bytes: header, then its number. */
struct small {
	struct perf_event_header header;
	uint64_t nr;
};

static struct small smalls[100000];

static struct perf_record record_of(uint64_t nr)
{
	smalls[nr] = (struct small){
		{PERF_RECORD_SAMPLE, 0, sizeof(struct small)},
                nr
        };
	return (struct perf_record){.data = (const uint8_t *)&smalls[nr],
				    .type = PERF_RECORD_SAMPLE,
				    .size = sizeof(struct small),
				    .offset = nr};
}

static void push(struct perf_order *o, uint64_t nr, uint64_t time)
{
	struct perf_record r = record_of(nr);

	perf_order_push(o, &r, time);
}

/* Pop all that may go. @return how many; *bad counts what went back in time or swapped equals. */
static uint64_t pop_all(struct perf_order *o, uint64_t *last_time, uint64_t *last_nr, uint64_t *bad)
{
	struct perf_record r;
	uint64_t time, n = 0;

	for (; perf_order_pop(o, &r, &time); n++) {
		uint64_t nr = load_u64(r.data + 8, false);

		*bad += time < *last_time || (time == *last_time && nr < *last_nr) ||
			r.offset != nr || r.type != PERF_RECORD_SAMPLE;
		*last_time = time;
		*last_nr = nr;
	}
	return n;
}

static void test_rounds(void)
{
	struct perf_order *o = perf_order_new(0);
	uint64_t time = 0, nr = 0, bad = 0;

	push(o, 0, 100);
	push(o, 1, 300);
	push(o, 2, 50);
	CHECK_EQ(pop_all(o, &time, &nr, &bad), 0, "nothing goes before a round is over");
	perf_order_round(o);
	CHECK_EQ(pop_all(o, &time, &nr, &bad), 0, "nor after the first: the second may be older");
	push(o, 3, 301);
	push(o, 4, 200);
	perf_order_round(o);
	CHECK_EQ(pop_all(o, &time, &nr, &bad), 4, "after the second: all up to the first's newest");
	CHECK_EQ(time, 300, "which is 300");
	perf_order_finish(o);
	CHECK_EQ(pop_all(o, &time, &nr, &bad), 1, "the rest at the end");
	CHECK(!bad && !perf_order_counts(o)->nr_late && perf_order_counts(o)->peak_queue == 5,
	      "in order, none late");
	perf_order_free(o);
}

static void test_late(void)
{
	struct perf_order *o = perf_order_new(0);
	uint64_t time = 0, nr = 0, bad = 0;

	push(o, 0, 100);
	perf_order_round(o);
	push(o, 1, 101);
	perf_order_round(o);
	pop_all(o, &time, &nr, &bad);
	push(o, 2, 5);
	perf_order_finish(o);
	CHECK(pop_all(o, &time, &nr, &bad) == 2 && perf_order_counts(o)->nr_late == 1,
	      "a record older than what already went is delivered, and counted");
	perf_order_free(o);
}

/* Several CPU buffers a round, as the kernel's are read: sorted, and stable for equal times. */
static void test_random_rounds(void)
{
	struct perf_random r = {.state = 7};
	struct perf_order *o = perf_order_new(0);
	uint64_t time = 0, last_nr = 0, bad = 0, nr = 0, popped = 0, start = 0;

	while (nr < 90000) {
		uint64_t newest = start;

		for (int cpu = 0; cpu < 8; cpu++) {
			uint64_t t = start, n = perf_random_below(&r, 200);

			for (; n; n--) {
				t += perf_random_below(&r, 3);
				push(o, nr++, t);
			}
			newest = t > newest ? t : newest;
		}
		perf_order_round(o);
		popped += pop_all(o, &time, &last_nr, &bad);
		start = newest;
	}
	perf_order_finish(o);
	popped += pop_all(o, &time, &last_nr, &bad);
	CHECK(popped == nr && !bad && !perf_order_counts(o)->nr_late,
	      "%llu records of 8 CPUs: all come, in order, equal times as in the file",
	      (unsigned long long)nr);
	CHECK(perf_order_counts(o)->peak_queue < 5000, "and at most %llu wait",
	      (unsigned long long)perf_order_counts(o)->peak_queue);
	perf_order_free(o);
}

/* Without rounds the limit bounds what waits. */
static void test_limit(void)
{
	struct perf_order *o = perf_order_new(1000);
	uint64_t time = 0, last_nr = 0, bad = 0, popped = 0;

	for (uint64_t nr = 0; nr < 50000; nr++) {
		push(o, nr, nr ^ 15);
		popped += pop_all(o, &time, &last_nr, &bad);
	}
	perf_order_finish(o);
	popped += pop_all(o, &time, &last_nr, &bad);
	CHECK(popped == 50000 && !bad, "50000 records without a round come in order");
	CHECK(perf_order_counts(o)->peak_queue <= 1000, "with at most 1000 waiting (%llu)",
	      (unsigned long long)perf_order_counts(o)->peak_queue);
	perf_order_free(o);
}

static void test_out_of_memory(void)
{
	unsigned int n = 0;
	bool failed = true;

	for (; failed && n < 1000; n++) {
		struct perf_order *o;

		mem_fail_after(n);
		o = perf_order_new(0);
		for (uint64_t nr = 0; o && nr < 500; nr++)
			push(o, nr, 500 - nr);
		if (o)
			perf_order_finish(o);
		failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		perf_order_free(o);
	}
	CHECK(n > 3 && n < 1000, "each of %u allocations fails once: nothing breaks", n - 1);
}

/* A record of a damaged time, far ahead of all others, in the round in which others go on: none of
 * them is late for it. */
static void check_damaged(uint32_t type, int nr_samples, const char *what)
{
	struct perf_order *o = perf_order_new(0);
	uint64_t nr = 0, time, late;
	struct perf_record r;

	for (uint64_t round = 0; round < 40; round++) {
		for (uint64_t cpu = 0; cpu < 4; cpu++) {
			for (int i = 0; i < nr_samples; i++)
				push(o, nr++, round * 1000 + 100 * (uint64_t)i + 300 * cpu);
		}
		if (round == 10) {
			r = record_of(nr);
			smalls[nr++].header.type = r.type = type;
			perf_order_push(o, &r, UINT64_MAX / 2);
		}
		perf_order_round(o);
		while (perf_order_pop(o, &r, &time))
			;
	}
	perf_order_finish(o);
	while (perf_order_pop(o, &r, &time))
		;
	late = perf_order_counts(o)->nr_late;
	CHECK(!late, "%s: %llu of %llu are late", what, (unsigned long long)late,
	      (unsigned long long)nr);
	CHECK(perf_order_counts(o)->peak_queue < 40 * (uint64_t)nr_samples, "at most %llu wait",
	      (unsigned long long)perf_order_counts(o)->peak_queue);
	perf_order_free(o);
}

static void test_damaged(void)
{
	check_damaged(PERF_RECORD_KSYMBOL, 10, "a damaged record far ahead");
	check_damaged(PERF_RECORD_SAMPLE, 10, "a damaged sample far ahead");
}

int main(void)
{
	test_damaged();
	test_rounds();
	test_late();
	test_random_rounds();
	test_limit();
	test_out_of_memory();
	return tap_done();
}
