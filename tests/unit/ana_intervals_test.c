/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_intervals.h"

#include "unit/tap.h"

/* Intervals of tracing by the samples of triggers, and lost triggers by the times of the trace. */

enum { MS = 1000000, TID = 7, MANY = 100000 };

static struct clew_perf_ns ms(uint64_t n)
{
	return (struct clew_perf_ns){n * MS};
}

static uint32_t add(struct ana_intervals *x, uint32_t tid, uint32_t cpu, bool starts_paused)
{
	uint32_t ret;

	return ana_intervals_of(x, 0, tid, cpu, starts_paused, &ret) ? ret : ANA_TRACED_NONE;
}

static bool is(const struct ana_intervals *x, size_t i, uint64_t from, uint64_t to)
{
	return i < x->all.nr && x->all.data[i].from.ns == from * MS &&
	       x->all.data[i].to.ns == to * MS;
}

static void test_bit(void)
{
	struct ana_intervals x = {0};
	uint32_t t = add(&x, TID, ANA_TRACED_NONE, true);
	struct ana_intervals_totals sum;

	ana_intervals_pause(&x, t, ms(5));
	ana_intervals_resume(&x, t, ms(10));
	ana_intervals_resume(&x, t, ms(11));
	ana_intervals_pause(&x, t, ms(20));
	ana_intervals_pause(&x, t, ms(21));
	ana_intervals_resume(&x, t, ms(30));
	ana_intervals_aux(&x, t, ms(35), true, false);
	ana_intervals_close(&x);
	sum = ana_intervals_totals(&x);
	CHECK(x.all.nr == 2 && is(&x, 0, 10, 20), "the state is a bit: one pause ends two resumes");
	CHECK(x.all.data[1].from.ns == 30 * MS && x.all.data[1].end == ANA_INTERVAL_RUNS,
	      "still running at the end");
	CHECK(sum.nr_triggers == 6 && sum.nr_unpaired == 3 && sum.nr_intervals == 2 &&
		      sum.nr_running == 1 && sum.sum_ns == 15 * MS,
	      "triggers, unpaired ones, and the sum up to the last time");
	CHECK(!sum.by_outcome[ANA_INTERVAL_RAN_ON] && !sum.by_outcome[ANA_INTERVAL_NO_TRACE],
	      "nothing is lost");
	ana_intervals_done(&x);
}

static void test_stop_when(void)
{
	struct ana_intervals x = {.has_running = true};
	uint32_t t = add(&x, ANA_TRACED_NONE, 3, false);

	ana_intervals_pause(&x, t, ms(8));
	ana_intervals_close(&x);
	CHECK(is(&x, 0, 0, 8) && !ana_intervals_totals(&x).nr_unpaired,
	      "a pause alone ends what ran since tracing began");
	CHECK(ana_intervals_has(&x, TID, 3, ms(1)) && !ana_intervals_has(&x, TID, 3, ms(9)) &&
		      ana_intervals_has(&x, TID, 2, ms(9)),
	      "of that CPU alone");
	ana_intervals_done(&x);
}

/* A state per thread and CPU: resumed on CPU 1, paused on CPU 0, where it is another event. */
static void test_per_cpu(void)
{
	struct ana_intervals x = {0};
	uint32_t on1 = add(&x, TID, 1, true), on0 = add(&x, TID, 0, true);

	ana_intervals_resume(&x, on1, ms(10));
	ana_intervals_pause(&x, on0, ms(20));
	ana_intervals_exit(&x, TID, ms(40));
	ana_intervals_close(&x);
	CHECK(x.all.nr == 1 && is(&x, 0, 10, 40) && x.all.data[0].end == ANA_INTERVAL_EXITED &&
		      x.traced.data[on0].nr_unpaired == 1,
	      "a thread that migrated is paused where it has gone to");
	CHECK(ana_intervals_totals(&x).nr_elsewhere == 1, "which is counted");
	CHECK(ana_intervals_payload(&x, TID, 1, ms(30)) &&
		      !ana_intervals_payload(&x, TID, 0, ms(30)) &&
		      !ana_intervals_payload(&x, 8, 1, ms(30)),
	      "trace of a thread that was never resumed is outside");
	CHECK(x.nr_outside == 2, "both are counted");
	ana_intervals_done(&x);
}

static void test_ran_on(void)
{
	struct ana_intervals x = {0};
	uint32_t t = add(&x, TID, ANA_TRACED_NONE, true);

	ana_intervals_resume(&x, t, ms(10));
	ana_intervals_pause(&x, t, ms(20));
	ana_intervals_resume(&x, t, ms(40));
	ana_intervals_pause(&x, t, ms(50));
	ana_intervals_aux(&x, t, ms(60), true, false);
	ana_intervals_close(&x);
	ana_intervals_payload(&x, TID, 0, ms(15));
	ana_intervals_payload(&x, TID, 0, ms(45));
	CHECK(!x.nr_outside, "trace in the intervals");
	ana_intervals_payload(&x, TID, 0, (struct clew_perf_ns){51 * MS});
	CHECK(ana_intervals_outcome(&x, &x.all.data[1]) == ANA_INTERVAL_GOOD && x.nr_outside == 1,
	      "1 ms after a pause: outside, but it proves nothing");
	ana_intervals_payload(&x, TID, 0, ms(22));
	ana_intervals_payload(&x, TID, 0, ms(39));
	CHECK(ana_intervals_outcome(&x, &x.all.data[0]) == ANA_INTERVAL_RAN_ON &&
		      x.all.data[0].after.ns == 39 * MS,
	      "later, and before the next resume: the pause was lost");
	ana_intervals_done(&x);
}

/* One interval of @p lasts_ms, and the AUX record of it. */
static enum ana_interval_outcome silent(uint64_t lasts_ms, bool has_bytes, bool is_truncated,
					uint64_t described_to, struct ana_intervals of)
{
	struct ana_intervals x = of;
	uint32_t t = add(&x, TID, ANA_TRACED_NONE, true);
	enum ana_interval_outcome ret;

	ana_intervals_resume(&x, t, ms(10));
	ana_intervals_pause(&x, t, ms(10 + lasts_ms));
	ana_intervals_aux(&x, t, ms(described_to), has_bytes, is_truncated);
	ana_intervals_close(&x);
	ret = ana_intervals_outcome(&x, &x.all.data[0]);
	ana_intervals_done(&x);
	return ret;
}

static void test_no_trace(void)
{
	const struct ana_intervals plain = {0}, lost = {.nr_lost = 1},
				   snapshot = {.is_snapshot = 1};

	CHECK(silent(5, false, false, 20, plain) == ANA_INTERVAL_NO_TRACE, "the resume was lost");
	CHECK(silent(1, false, false, 20, plain) == ANA_INTERVAL_GOOD, "1 ms may have none");
	CHECK(silent(5, true, false, 20, plain) == ANA_INTERVAL_GOOD, "there are bytes");
	CHECK(silent(5, false, true, 20, plain) == ANA_INTERVAL_FULL, "the buffer was full");
	CHECK(silent(5, false, false, 12, plain) == ANA_INTERVAL_GOOD,
	      "AUX records do not reach to its end");
	CHECK(silent(5, false, false, 20, lost) == ANA_INTERVAL_GOOD, "AUX records may be lost");
	CHECK(silent(5, false, false, 20, snapshot) == ANA_INTERVAL_GOOD,
	      "of a snapshot they do not say how much there was");
}

static void test_silent_between(void)
{
	struct ana_intervals x = {0};
	uint32_t t = add(&x, TID, ANA_TRACED_NONE, true);

	for (uint64_t at = 10; at < 50; at += 10) {
		ana_intervals_resume(&x, t, ms(at));
		ana_intervals_pause(&x, t, ms(at + 5));
	}
	ana_intervals_aux(&x, t, ms(60), true, false);
	ana_intervals_close(&x);
	CHECK(!ana_intervals_totals(&x).by_outcome[ANA_INTERVAL_NO_TRACE],
	      "without times of trace nothing is known");
	ana_intervals_payload(&x, TID, 0, ms(12));
	ana_intervals_payload(&x, TID, 0, ms(32));
	ana_intervals_payload(&x, TID, 0, ms(42));
	CHECK(ana_intervals_totals(&x).by_outcome[ANA_INTERVAL_NO_TRACE] == 1 &&
		      ana_intervals_outcome(&x, &x.all.data[1]) == ANA_INTERVAL_NO_TRACE,
	      "one of four has no trace, by its times");
	ana_intervals_done(&x);
}

/* What has no room is unknown: neither unpaired, nor is its trace outside. */
static void test_omitted(void)
{
	struct budget small = {.limit = 1200};
	struct ana_intervals x = {.account.budget = &small};
	uint32_t t = add(&x, TID, ANA_TRACED_NONE, true);

	for (uint64_t at = 10; at < 300; at += 10) {
		ana_intervals_resume(&x, t, ms(at));
		ana_intervals_pause(&x, t, ms(at + 5));
	}
	ana_intervals_close(&x);
	CHECK(x.all.nr > 0 && x.all.nr < 29 && x.nr_omitted == 29 - x.all.nr &&
		      is(&x, x.all.nr - 1, 10 * x.all.nr, 10 * x.all.nr + 5),
	      "%zu of 29 intervals had room", x.all.nr);
	CHECK(!ana_intervals_totals(&x).nr_unpaired, "the state is followed");
	CHECK(ana_intervals_payload(&x, TID, 0, ms(297)) &&
		      !ana_intervals_payload(&x, TID, 0, ms(17)) && x.nr_outside == 1,
	      "what is unknown is not called outside");
	ana_intervals_done(&x);
}

/* Files of strangers: each step is short, however many states, intervals and AUX events there are
 * (with a walk through all of them these loops would take minutes). */
static void test_states_of_thread(void)
{
	struct ana_intervals x = {0};

	for (uint32_t cpu = 0; cpu < MANY; cpu++) {
		uint32_t t = add(&x, TID, cpu, true);

		ana_intervals_pause(&x, t, ms(cpu));
		ana_intervals_exit(&x, TID, ms(cpu));
	}
	CHECK(ana_intervals_totals(&x).nr_unpaired == MANY &&
		      !ana_intervals_totals(&x).nr_elsewhere,
	      "pauses of a thread that is on nowhere");
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		ana_intervals_resume(&x, cpu, ms(MANY + cpu));
	ana_intervals_pause(&x, 1, ms(MANY + 10));
	ana_intervals_pause(&x, 1, ms(MANY + 11));
	ana_intervals_exit(&x, TID, ms(MANY + 20));
	ana_intervals_resume(&x, 2, ms(MANY + 30));
	ana_intervals_close(&x);
	CHECK(ana_intervals_totals(&x).nr_elsewhere == 1, "paused where it is off, on elsewhere");
	CHECK(is(&x, 0, MANY, MANY + 20) && is(&x, 1, MANY + 1, MANY + 10) &&
		      is(&x, 2, MANY + 2, MANY + 20) && x.all.data[3].end == ANA_INTERVAL_RUNS,
	      "its end ends those that are on, and a new thread of its number begins again");
	ana_intervals_done(&x);
}

static void test_disordered(void)
{
	struct ana_intervals x = {0};
	uint32_t t = add(&x, TID, ANA_TRACED_NONE, true);

	for (uint64_t i = 0; i < MANY; i++) {
		ana_intervals_resume(&x, t, ms(MANY));
		ana_intervals_pause(&x, t, ms(2 * MANY + i));
	}
	for (uint64_t i = 0; i < MANY; i++)
		ana_intervals_aux(&x, t, ms(i), false, false);
	ana_intervals_aux(&x, t, ms(4 * MANY), false, false);
	ana_intervals_close(&x);
	CHECK(!ana_intervals_totals(&x).by_outcome[ANA_INTERVAL_NO_TRACE],
	      "AUX records that come late prove nothing");
	ana_intervals_done(&x);
}

static void test_aux_events(void)
{
	struct ana_intervals x = {0};
	uint32_t ret = 0;

	for (uint32_t event = 0; event < 20; event++)
		ana_intervals_of(&x, event, TID, ANA_TRACED_NONE, true, &ret);
	CHECK(x.traced.nr == 16 && x.nr_omitted == 4 && ret == ANA_TRACED_NONE,
	      "sixteen AUX events, the others are omitted");
	ana_intervals_done(&x);
}

int main(void)
{
	test_bit();
	test_stop_when();
	test_per_cpu();
	test_ran_on();
	test_no_trace();
	test_silent_between();
	test_omitted();
	test_states_of_thread();
	test_disordered();
	test_aux_events();
	return tap_done();
}
