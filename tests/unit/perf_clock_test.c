// SPDX-License-Identifier: LGPL-2.1-or-later
#include "perfdata/perf_clock.h"

#include "make/splitmix.h"
#include "tap.h"

/* TIME_CONV of a recording by perf 4.14: TSC of 1.2 GHz. */
static const struct perf_time_conv tsc_conv = {.shift = 31,
					       .mult = 1789569706,
					       .zero = UINT64_C(18446744041015200657),
					       .mask = UINT64_MAX};

/* The generic timer of 25 MHz: mult = 40 << 24. */
static const struct perf_time_conv timer_conv = {.shift = 24,
						 .mult = 40 << 24,
						 .zero = 1000,
						 .mask = UINT64_MAX};

static uint64_t tsc_ns(const struct perf_time_conv *c, uint64_t ticks)
{
	struct clew_perf_ns ret = {0};

	return perf_ns_of_tsc(c, (struct clew_tsc){ticks}, &ret) ? ret.ns : 0;
}

static uint64_t timer_ns(const struct perf_time_conv *c, uint64_t ticks)
{
	struct clew_perf_ns ret = {0};

	return perf_ns_of_cntvct(c, (struct clew_cntvct){ticks}, &ret) ? ret.ns : 0;
}

static void test_exact(void)
{
	uint64_t seed = 1, nr_wrong = 0;

	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t t = splitmix64(&seed) >> (i % 60);
		__extension__ unsigned __int128 product = t;

		product = (product * tsc_conv.mult >> tsc_conv.shift) + tsc_conv.zero;
		nr_wrong += tsc_ns(&tsc_conv, t) != (uint64_t)product;
	}
	CHECK_EQ(nr_wrong, 0, "100000 TSC values: as the product in 128 bits says");
}

static void test_short(void)
{
	struct perf_time_conv c = timer_conv;

	c.is_short = true;
	c.cycles = 0x1fffffff0;
	c.mask = 0xffffffff;
	CHECK_EQ(timer_ns(&c, 0xfffffff8), 1000 + UINT64_C(0x1fffffff8) * 40,
		 "a counter of 32 bits: in the period of the record's cycles");
	CHECK_EQ(timer_ns(&c, 8), 1000 + UINT64_C(0x200000008) * 40,
		 "a counter of 32 bits that has wrapped since");
}

/* The least tick of each time: of the four kinds of counter that there are. */
static void test_back(void)
{
	static const struct {
		const char *name;
		struct perf_time_conv conv;
	} rows[] = {
		{"TSC of 1.2 GHz",  {31, 1789569706, UINT64_C(18446744041015200657), 0, 0, 0, 0}},
		{"timer of 25 MHz", {24, 40 << 24, 1000, 0, 0, 0, 0}                            },
		{"timer of 1 GHz",  {31, UINT64_C(1) << 31, 5, 0, 0, 0, 0}                      },
		{"a shift of 63",   {63, UINT64_C(5) << 62, 0, 0, 0, 0, 0}                      },
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct perf_time_conv *c = &rows[r].conv;
		uint64_t seed = r, nr_wrong = 0;

		for (unsigned int i = 0; i < 10000; i++) {
			struct clew_perf_ns t = {c->zero + (splitmix64(&seed) >> (12 + i % 40))},
					    at, before;
			struct clew_ticks ticks = {0};

			nr_wrong += !perf_ticks_of_ns(c, t, &ticks) ||
				    !perf_ns_of_ticks(c, ticks, &at) || (int64_t)(at.ns - t.ns) < 0;
			ticks.ticks--;
			nr_wrong += ticks.ticks != UINT64_MAX &&
				    perf_ns_of_ticks(c, ticks, &before) &&
				    (int64_t)(before.ns - t.ns) >= 0;
		}
		CHECK_EQ(nr_wrong, 0, "%s: the least tick of a time", rows[r].name);
	}
}

static void test_order(void)
{
	struct perf_time_conv c = timer_conv;

	c.is_short = true;
	c.cycles = UINT64_C(0xfffffffffffff0);
	c.mask = UINT64_C(0xffffffffffffff);
	CHECK(perf_ticks_order(&c, (struct clew_ticks){UINT64_C(0xfffffffffffff8)}) <
		      perf_ticks_order(&c, (struct clew_ticks){2}),
	      "a counter of 56 bits that has wrapped is later");
	CHECK(!perf_ticks_of_ns(&(struct perf_time_conv){0}, (struct clew_perf_ns){1},
				&(struct clew_ticks){0}),
	      "a record of zeroes has no ticks");
}

static void test_refused(void)
{
	struct perf_time_conv c = timer_conv;
	struct clew_perf_ns ret = {7};

	c.shift = 64;
	CHECK(!perf_ns_of_cntvct(&c, (struct clew_cntvct){1}, &ret) && ret.ns == 7,
	      "a shift of 64 is refused");
	c.shift = 63;
	CHECK(perf_ns_of_tsc(&c, (struct clew_tsc){1}, &ret), "a shift of 63 is not");
}

int main(void)
{
	CHECK_EQ(timer_ns(&timer_conv, 0), 1000, "tick 0 is the record's zero");
	CHECK_EQ(timer_ns(&timer_conv, 25000000), 1000001000,
		 "25 million ticks of 25 MHz: a second");
	test_exact();
	test_short();
	test_back();
	test_order();
	test_refused();
	return tap_done();
}
