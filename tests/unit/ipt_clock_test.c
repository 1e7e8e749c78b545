/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_clock.h"

#include "unit/tap.h"

/* A TSC of 2 GHz, a crystal of 24 MHz: 250 / 3 ticks each. */
static const struct ipt_config config = {
	.timing = {.numerator = 250, .denominator = 3, .mtc_shift = 3, .max_ratio = 20}
};

static bool take(struct ipt_clock *c, enum ipt_kind kind, uint64_t v)
{
	struct ipt_packet k = {.kind = (uint8_t)kind};

	if (kind == IPT_TSC)
		k.tsc = v;
	else if (kind == IPT_MTC)
		k.mtc = (uint8_t)v;
	else if (kind == IPT_CYC)
		k.cyc = v;
	else if (kind == IPT_CBR)
		k.cbr = (uint8_t)v;
	return ipt_clock_take(c, &k);
}

static void take_tma(struct ipt_clock *c, uint16_t ctc, uint16_t fast)
{
	struct ipt_packet k = {.kind = IPT_TMA};

	k.tma.ctc = ctc;
	k.tma.fast = fast;
	ipt_clock_take(c, &k);
}

static void check_mtc(void)
{
	struct ipt_clock c;

	ipt_clock_init(&c, &config);
	CHECK(!take(&c, IPT_MTC, 7) && !c.ticks, "before a TSC there is no time");
	CHECK(take(&c, IPT_TSC, 1000000) && c.ticks == 1000000, "a TSC is the time");
	CHECK(!take(&c, IPT_MTC, 7), "an MTC without TMA says nothing");
	take_tma(&c, 8 * 5 + 2, 20); /* 20 + 2 * 250 / 3 ticks after the MTC of value 5 */
	CHECK(take(&c, IPT_MTC, 6) && c.ticks == 1000000 - 186 + 8 * 250 / 3,
	      "MTC counts from the phase that TMA says");
	CHECK(take(&c, IPT_MTC, 8) && c.ticks == 1000000 - 186 + 24 * 250 / 3, "one may be lost");
	CHECK(take(&c, IPT_MTC, 8) && c.ticks == 1000000 - 186 + (24 + 256 * 8) * 250 / 3,
	      "the same value is a whole turn");
	CHECK(!take(&c, IPT_TSC, 1000), "time does not go back");
	take(&c, IPT_PSB, 0);
	CHECK(take(&c, IPT_TSC, 1000) && c.ticks == 1000, "at a PSB it is what the TSC says");
}

static void check_cyc(void)
{
	struct ipt_clock c;

	ipt_clock_init(&c, &config);
	take(&c, IPT_TSC, 1000000);
	CHECK(!take(&c, IPT_CYC, 100), "cycles without a ratio say nothing");
	take(&c, IPT_CBR, 10);
	CHECK(take(&c, IPT_CYC, 100) && c.ticks == 1000200,
	      "at half the clock a cycle is two ticks");
	CHECK(take(&c, IPT_CYC, 1) && c.ticks == 1000202, "and counts on");
	take(&c, IPT_CBR, 20);
	CHECK(take(&c, IPT_CYC, 10) && c.ticks == 1000212, "the next ratio counts from there");
	CHECK(take(&c, IPT_CYC, UINT64_MAX) && c.ticks > 1000212, "too many cycles do not wrap");
}

/** MTC shows more of the crystal clock than TMA has. */
static void check_partial(void)
{
	struct ipt_config wide = config;
	struct ipt_clock c;

	wide.timing.mtc_shift = 10;
	ipt_clock_init(&c, &wide);
	take(&c, IPT_TSC, 10000000);
	take_tma(&c, 5 << 10, 0); /* of last_mtc bits 5:0 */
	CHECK(take(&c, IPT_MTC, 0xc6) && c.ticks == 10000000 + 1024 * 250 / 3,
	      "the high bits are those of the first MTC");
}

static void check_wrap(void)
{
	struct ipt_config later = config;
	struct ipt_clock c;

	later.timing.reference = UINT64_C(0x1200000000000005);
	ipt_clock_init(&c, &later);
	CHECK(take(&c, IPT_TSC, 0xfffffffffffff0) && c.ticks == UINT64_C(0x11fffffffffffff0),
	      "the top byte is that near the reference");
	CHECK(take(&c, IPT_TSC, 3) && c.ticks == UINT64_C(0x1200000000000003),
	      "then near the last");
}

int main(void)
{
	check_mtc();
	check_cyc();
	check_partial();
	check_wrap();
	return tap_done();
}
