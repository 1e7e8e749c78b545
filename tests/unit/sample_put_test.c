/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sample as it is written is what the encoder of the tests makes of it, and is read back. */
#include "perfdata/sample_put.h"

#include "make/perf_random.h"
#include "unit/tap.h"

static bool is_right(struct perf_random *r)
{
	struct perf_put want = {0};
	struct perf_attr attr = {0};
	struct perf_sample s;
	struct buf out = {0};
	bool ok;

	perf_random_attr(r, &attr);
	attr.sample_type &= PERF_SAMPLE_PUTS;
	attr.branch_sample_type &= ~PERF_SAMPLE_BRANCH_COUNTERS;
	perf_random_sample(r, &attr, &s);
	perf_encode_sample(&want, &attr, &s);
	ok = perf_sample_put(&out, &attr, &s) && out.nr == want.buf.nr &&
	     !memcmp(out.data, want.buf.data, out.nr);
	buf_done(&want.buf);
	buf_done(&out);
	return ok;
}

static void test_random(void)
{
	struct perf_random r = {.state = 5};
	int wrong = 0;

	for (int i = 0; i < 5000; i++)
		wrong += !is_right(&r);
	CHECK(!wrong, "random samples");
	perf_random_done(&r);
}

static void test_too_long(void)
{
	enum { NR = 8192 };
	static const uint8_t words[8 * NR];
	const struct perf_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN};
	const struct perf_sample s = {
		.callchain = {words, NR, false}
        };
	struct buf out = {0};

	buf_str(&out, "x");
	CHECK(!perf_sample_put(&out, &attr, &s) && out.nr == 1 && !out.is_failed,
	      "more than a record holds");
	buf_done(&out);
}

int main(void)
{
	test_random();
	test_too_long();
	return tap_done();
}
