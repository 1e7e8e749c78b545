/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests and samples on their two ways, with losses, and never a wrong cookie. */
#include "record/stacks/defer_join.h"

#include "make/splitmix.h"
#include "unit/tap.h"

static const uint64_t unmatched = (uint64_t)PERF_NO_STACK_UNMATCHED << 16;

static void request(struct defer_join *j, uint64_t time, uint32_t tid, uint64_t cookie)
{
	const struct defer_request r = {.time = time, .cookie = cookie, .tid = tid};

	defer_join_request(j, &r);
}

static uint64_t sample(struct defer_join *j, uint64_t time, uint32_t tid)
{
	return defer_join_sample(j, 0, 0, tid, time);
}

static void test_earlier(void)
{
	struct defer_join j;

	CHECK(defer_join_init(&j, 2, 2), "a join");
	request(&j, 100, 7, 0x10001);
	request(&j, 200, 7, 0x20001);
	CHECK_EQ(sample(&j, 105, 7), 0x10001, "the request a little before");
	CHECK_EQ(sample(&j, 205, 7), 0x20001, "and the next");
	CHECK_EQ(sample(&j, 210, 7), unmatched, "a request serves one sample");
	request(&j, 300, 7, 0x30001);
	request(&j, 310, 7, 0x40001); /* the first was of an event that a filter dropped */
	CHECK_EQ(sample(&j, 315, 7), 0x40001, "the newest that is not later");
	request(&j, 400, 8, 0x50001);
	CHECK_EQ(sample(&j, 405, 7), unmatched, "another task's");
	CHECK_EQ(sample(&j, 406, 8), unmatched, "which is after another sample now");
	request(&j, 500, 7, 0x60001);
	CHECK_EQ(defer_join_sample(&j, 1, 0, 7, 505), unmatched, "another CPU's");
	CHECK_EQ(defer_join_sample(&j, 0, 1, 7, 505), unmatched, "another event's");
	CHECK_EQ(defer_join_sample(&j, 9, 9, 7, 505), unmatched, "no such CPU or event");
	CHECK_EQ(sample(&j, 505, 7), 0x60001, "its own");
	request(&j, 600, 7, (uint64_t)PERF_NO_STACK_EXITING << 16);
	CHECK_EQ(sample(&j, 601, 7), (uint64_t)PERF_NO_STACK_EXITING << 16, "a reason as given");
	CHECK_EQ(j.nr_reasons[PERF_NO_STACK_EXITING], 1, "and counted");
	defer_join_done(&j);
}

static void test_equal(void)
{
	struct defer_join j;
	bool ok = true;

	defer_join_init(&j, 1, 1);
	request(&j, 50, 7, 0x10001);
	request(&j, 50, 8, 0x20001);
	request(&j, 50, 7, 0x10001);
	CHECK(sample(&j, 50, 7) == 0x10001 && sample(&j, 50, 7) == 0x10001 &&
		      sample(&j, 50, 8) == 0x20001,
	      "several of one time");
	request(&j, 60, 7, 0x30001);
	request(&j, 60, 7, 0x40001);
	CHECK_EQ(sample(&j, 60, 7), unmatched, "one time, one task, two cookies");
	for (uint64_t t = 100; t < 120; t++) {
		request(&j, t, 7, t << 16 | 1);
		ok &= sample(&j, t, 7) == (t << 16 | 1);
	}
	CHECK(ok, "equal times");
	request(&j, 200, 7, 0x50001);
	CHECK_EQ(sample(&j, 201, 7), unmatched, "from then on nothing else is believed");
	defer_join_done(&j);

	defer_join_init(&j, 1, 1);
	defer_join_demand_equal(&j, 0);
	request(&j, 10, 7, 0x10001);
	CHECK_EQ(sample(&j, 11, 7), unmatched, "nor from the start, where that is demanded");
	defer_join_done(&j);
}

static void test_losses(void)
{
	struct defer_join j;

	defer_join_init(&j, 2, 1);
	request(&j, 10, 7, 0x10001); /* its sample is lost */
	request(&j, 20, 7, 0x20001);
	defer_join_lost_samples(&j, 0);
	CHECK_EQ(sample(&j, 25, 7), unmatched, "the first after lost samples");
	request(&j, 30, 7, 0x30001);
	CHECK_EQ(sample(&j, 35, 7), 0x30001, "the next");
	request(&j, 40, 7, 0x40001);
	defer_join_lost_samples(&j, 1);
	CHECK_EQ(sample(&j, 45, 7), 0x40001, "losses of another CPU");
	request(&j, 50, 7, 0x50001);
	defer_join_lost_samples(&j, 0);
	CHECK_EQ(sample(&j, 50, 7), 0x50001, "equal times need no more proof");
	request(&j, 60, 7, 0x60001);
	defer_join_lost_requests(&j, 70);
	CHECK_EQ(sample(&j, 65, 7), unmatched, "requests up to 70 may be lost");
	request(&j, 71, 7, 0x70001);
	CHECK_EQ(sample(&j, 75, 7), 0x70001, "later ones are not");
	defer_join_done(&j);
}

static void test_passes(void)
{
	struct defer_join j;

	defer_join_init(&j, 1, 1);
	request(&j, 10, 7, 0x10001);
	defer_join_end_pass(&j);
	request(&j, 20, 7, 0x20001);
	CHECK_EQ(sample(&j, 12, 7), 0x10001, "a sample one pass after its request");
	defer_join_end_pass(&j);
	defer_join_end_pass(&j);
	CHECK_EQ(sample(&j, 22, 7), unmatched, "two passes after");
	CHECK_EQ(defer_join_nr_waiting(&j), 1, "the newest cookie of the task is waited for");
	defer_join_stack(&j, 7, 0x10001);
	CHECK_EQ(defer_join_nr_waiting(&j), 1, "an older one's stack does not end that");
	defer_join_stack(&j, 7, 0x20001);
	CHECK_EQ(defer_join_nr_waiting(&j), 0, "its own does");
	request(&j, 30, 7, 0x20001);
	CHECK_EQ(defer_join_nr_waiting(&j), 0, "a request after its stack waits for nothing");
	CHECK(defer_join_is_wanted(&j, 0x10001) && !defer_join_is_wanted(&j, 0x10001),
	      "a sample's stack is wanted once");
	CHECK(!defer_join_is_wanted(&j, 0x20001), "one without its sample is not");
	request(&j, 31, 7, (uint64_t)PERF_NO_STACK_IDLE << 16);
	CHECK_EQ(defer_join_nr_waiting(&j), 0, "nor does one without a cookie");
	defer_join_done(&j);
}

/* A task may continue on another CPU between its request and its sample. */
static void test_by_task(void)
{
	struct defer_request r = {.time = 100, .cookie = 0x10001, .tid = 7};
	struct defer_join j;

	defer_join_init(&j, 3, 2);
	defer_join_by_task(&j, 1);
	r.event = 1;
	defer_join_request(&j, &r);
	r = (struct defer_request){.time = 101, .cookie = 0x20002, .tid = 8, .cpu = 1, .event = 1};
	defer_join_request(&j, &r);
	CHECK(defer_join_is_ready(&j, 2, 1, 7, 105) && !defer_join_is_ready(&j, 2, 1, 9, 105),
	      "by task: the one with a request");
	CHECK_EQ(defer_join_sample(&j, 2, 1, 7, 105), 0x10001, "by task: of another CPU");
	CHECK_EQ(defer_join_sample(&j, 0, 1, 7, 106), unmatched, "by task: serves one sample");
	CHECK_EQ(defer_join_sample(&j, 0, 0, 8, 106), unmatched, "by task: another event's");
	CHECK_EQ(defer_join_sample(&j, 0, 1, 8, 100), unmatched, "by task: a later request");
	CHECK_EQ(defer_join_sample(&j, 0, 1, 8, 101), 0x20002, "by task: after another task's");
	r = (struct defer_request){.time = 200, .cookie = 0x30003, .tid = 7, .cpu = 2, .event = 1};
	defer_join_request(&j, &r); /* its sample was filtered */
	r.time = 210;
	r.cookie = 0x40003;
	defer_join_request(&j, &r);
	defer_join_lost_samples(&j, 0);
	CHECK_EQ(defer_join_sample(&j, 0, 1, 7, 215), 0x40003, "by task: the newest");
	CHECK_EQ(defer_join_sample(&j, 0, 1, 7, 216), unmatched, "by task: never an older one");
	r.time = 220;
	defer_join_request(&j, &r);
	defer_join_lost_requests(&j, 230);
	CHECK_EQ(defer_join_sample(&j, 0, 1, 7, 225), unmatched, "by task: requests were lost");
	defer_join_end_pass(&j);
	defer_join_end_pass(&j);
	CHECK_EQ(defer_join_sample(&j, 0, 1, 7, 240), unmatched,
		 "by task: two passes after, and requests were lost");
	defer_join_done(&j);
}

static void ask(struct defer_join *j, uint64_t time, uint32_t tid, uint64_t cookie)
{
	const struct defer_request r = {.time = time, .cookie = cookie, .tid = tid};

	defer_join_request(j, &r);
}

/* Between request and sample there may be any number of passes, but no other request. */
static void test_held_up(void)
{
	const uint64_t s = 1000000000;
	struct defer_join j;

	defer_join_init(&j, 1, 1);
	defer_join_by_task(&j, 0);
	ask(&j, 100, 7, 0x10001);
	ask(&j, 110, 7, 0x20001);
	ask(&j, 120, 8, 0x30001);
	ask(&j, 130, 9, 0x40001);
	CHECK_EQ(defer_join_sample(&j, 0, 0, 9, 131), 0x40001, "held up: not this one");
	for (int i = 0; i < 5; i++)
		defer_join_end_pass(&j);
	ask(&j, 200, 7, 0x50001);
	defer_join_end_pass(&j);
	CHECK_EQ(defer_join_sample(&j, 0, 0, 7, 111), 0x20001,
		 "held up: its sample may come a pass later than the task's next request");
	CHECK_EQ(defer_join_sample(&j, 0, 0, 7, 105), unmatched, "held up: none but the newest");
	CHECK_EQ(defer_join_sample(&j, 0, 0, 9, 132), unmatched, "held up: none that was taken");
	ask(&j, 210, 7, 0x60001);
	defer_join_end_pass(&j);
	defer_join_end_pass(&j);
	CHECK_EQ(defer_join_sample(&j, 0, 0, 7, 201), unmatched, "held up: two passes, no longer");
	CHECK_EQ(defer_join_sample(&j, 0, 0, 8, 220), 0x30001, "held up: eight passes");
	ask(&j, 300, 7, 0x70001);
	ask(&j, 300 + 11 * s, 9, 0x80001);
	defer_join_end_pass(&j);
	defer_join_end_pass(&j);
	CHECK_EQ(defer_join_sample(&j, 0, 0, 7, 300 + 11 * s), unmatched, "held up: not for ever");
	defer_join_done(&j);

	defer_join_init(&j, 1, 1);
	defer_join_demand_equal(&j, 0);
	ask(&j, 100, 7, 0x10001);
	ask(&j, 110, 7, 0x20001);
	for (int i = 0; i < 5; i++)
		defer_join_end_pass(&j);
	CHECK_EQ(defer_join_sample(&j, 0, 0, 7, 100), unmatched,
		 "the CPU held up: not an older one");
	CHECK_EQ(defer_join_sample(&j, 0, 0, 7, 110), 0x20001, "the CPU held up: its last request");
	defer_join_done(&j);
}

/* --- random streams --- */

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	return (uint32_t)splitmix64(&seed) % n;
}

enum { NR_CPUS = 3, NR_EVENTS = 2, NR_PASSES = 60 };

struct outcome {
	uint64_t right, missed, wrong;
};

/* Every sample has a request; both are lost at times, the loss of samples is reported at the next
 * record, that of requests with the pass. Times repeat and, where @is_equal, agree. */
static void stream(bool is_equal, uint32_t loss, struct outcome *ret)
{
	struct defer_join j;
	uint64_t time[NR_CPUS] = {0}, cookie = 1;
	uint64_t last[NR_CPUS][NR_EVENTS] = {{0}};

	defer_join_init(&j, NR_CPUS, NR_EVENTS);
	for (int pass = 0; pass < NR_PASSES; pass++) {
		struct {
			uint64_t time, cookie;
			uint32_t cpu, event, tid;
			bool is_lost, is_behind_loss;
		} samples[64];
		uint32_t nr = 0;
		bool is_gap[NR_CPUS] = {0}, is_request_lost = false;

		for (; nr < 64; nr++) {
			uint32_t cpu = roll(NR_CPUS);

			samples[nr].cpu = cpu;
			samples[nr].event = roll(NR_EVENTS);
			/* Different events may happen at one time. */
			if (last[cpu][samples[nr].event] == time[cpu] || roll(2))
				time[cpu] += 10 + roll(1000);
			last[cpu][samples[nr].event] = time[cpu];
			samples[nr].tid = 100 + cpu * 10 + roll(2);
			samples[nr].cookie = roll(3) ? ++cookie << 16 | 1 : cookie << 16 | 1;
			samples[nr].time = time[cpu];
			samples[nr].is_lost = roll(100) < loss;
			samples[nr].is_behind_loss = is_gap[cpu];
			is_gap[cpu] = samples[nr].is_lost;
			if (roll(100) < loss) {
				is_request_lost = true;
				continue;
			}
			defer_join_request(&j,
					   &(struct defer_request){
						   .time = time[cpu] - (is_equal ? 0 : roll(10)),
						   .cookie = samples[nr].cookie,
						   .tid = samples[nr].tid,
						   .cpu = cpu,
						   .event = samples[nr].event});
		}
		defer_join_lost_requests(&j, is_request_lost ? UINT64_MAX : 0);
		for (uint32_t i = 0; i < nr; i++) {
			uint64_t got;

			if (samples[i].is_behind_loss)
				defer_join_lost_samples(&j, samples[i].cpu);
			if (samples[i].is_lost)
				continue;
			got = defer_join_sample(&j, samples[i].cpu, samples[i].event,
						samples[i].tid, samples[i].time);
			ret->right += got == samples[i].cookie;
			ret->missed += got == unmatched;
			ret->wrong += got != samples[i].cookie && got != unmatched;
		}
		defer_join_end_pass(&j);
	}
	defer_join_done(&j);
}

static void test_random(void)
{
	for (int is_equal = 0; is_equal < 2; is_equal++) {
		for (uint32_t loss = 0; loss <= 40; loss += 20) {
			struct outcome o = {0};

			for (uint64_t i = 1; i <= 100; i++) {
				seed = i;
				stream(is_equal, loss, &o);
			}
			printf("# %llu right, %llu missed, %llu wrong\n",
			       (unsigned long long)o.right, (unsigned long long)o.missed,
			       (unsigned long long)o.wrong);
			CHECK(o.right && !o.wrong, "never a wrong cookie: %s times, %u %% lost",
			      is_equal ? "equal" : "earlier", loss);
			CHECK(loss || !o.missed, "without losses all are joined");
		}
	}
}

static void test_memory(void)
{
	bool ok = true;

	for (uint64_t n = 0; n < 12; n++) {
		struct defer_join j = {0};

		mem_fail_after(n);
		if (defer_join_init(&j, 2, 2)) {
			request(&j, 10, 7, 0x10001);
			ok &= sample(&j, 11, 7) == unmatched || n > 0;
			defer_join_stack(&j, 7, 0x10001);
			defer_join_end_pass(&j);
		}
		mem_fail_after(UINT64_MAX);
		defer_join_done(&j);
	}
	CHECK(ok, "memory that fails at each place");
}

int main(void)
{
	test_earlier();
	test_equal();
	test_losses();
	test_passes();
	test_by_task();
	test_held_up();
	test_random();
	test_memory();
	return tap_done();
}
