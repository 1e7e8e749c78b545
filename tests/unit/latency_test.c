/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/latency.h"

#include <stdlib.h>

#include "unit/tap.h"

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Against the sorted values. */
static void against_all(uint32_t mask, const char *what)
{
	enum { NR = 5000 };
	static uint32_t values[NR];
	struct latency l = {0}, parts[2] = {{0}};
	uint64_t seed = 1, sum = 0;

	for (int i = 0; i < NR; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		values[i] = (uint32_t)(seed >> 32) & mask;
		sum += values[i];
		latency_add(&l, values[i]);
		latency_add(&parts[i % 3 == 0], values[i]);
	}
	qsort(values, NR, sizeof(values[0]), by_value);
	latency_merge(&parts[0], &parts[1]);
	CHECK_EQ(l.sum, sum, "%s: sum", what);
	CHECK_EQ(parts[0].sum, sum, "%s: sum of parts", what);
	CHECK_EQ(l.min, values[0], "%s: min", what);
	CHECK_EQ(parts[0].max, values[NR - 1], "%s: max of parts", what);
	for (unsigned int p = 1; p <= 100; p += 33) {
		uint32_t exact = values[NR * p / 100 - 1], got = latency_percentile(&l, p);

		CHECK(got <= exact && exact - got <= exact / 32, "%s: %u %%: %u, %u", what, p, got,
		      exact);
		CHECK_EQ(latency_percentile(&parts[0], p), got, "%s: %u %% of parts", what, p);
	}
	latency_done(&l);
	latency_done(&parts[0]);
	latency_done(&parts[1]);
}

static void one_value(void)
{
	struct latency l = {0}, more = {0};

	CHECK_EQ(latency_percentile(&l, 50), 0, "empty");
	latency_merge(&l, &more);
	CHECK_EQ(l.nr, 0, "two empty ones");
	for (int i = 0; i < 10; i++)
		latency_add(&l, 700);
	CHECK(!l.buckets, "equal values take no memory");
	CHECK_EQ(latency_percentile(&l, 99), 700, "and are exact");
	latency_merge(&more, &l);
	CHECK(!more.buckets, "nor their sum");
	latency_add(&more, 3);
	latency_merge(&l, &more);
	CHECK_EQ(l.nr, 21, "all count");
	CHECK_EQ(l.min, 3, "min of both");
	CHECK_EQ(latency_percentile(&l, 4), 3, "the first of 21");
	CHECK_EQ(latency_percentile(&l, 5), 700 & ~15u, "the second");
	latency_add(&l, UINT64_MAX);
	CHECK_EQ(l.max, UINT32_MAX, "a weight of any size");
	latency_done(&l);
	latency_done(&more);
}

int main(void)
{
	against_all(63, "exact");
	against_all(4095, "12 bits");
	against_all(UINT32_MAX, "32 bits");
	one_value();
	return tap_done();
}
