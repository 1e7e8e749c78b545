/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_clock.h"

/** a * b >> shift, of 128 bits. */
static uint64_t mul_shift(uint64_t a, uint64_t b, uint64_t shift)
{
	__extension__ unsigned __int128 product = a;

	return (uint64_t)(product * b >> shift);
}

bool perf_ns_of_unwrapped(const struct perf_time_conv *conv, struct clew_ticks t,
			  struct clew_perf_ns *ret)
{
	uint64_t quot, rem;

	if (conv->shift > 63 || !conv->mult)
		return false;
	quot = t.ticks >> conv->shift;
	rem = t.ticks & (((uint64_t)1 << conv->shift) - 1);
	ret->ns = conv->zero + quot * conv->mult + mul_shift(rem, conv->mult, conv->shift);
	return true;
}

bool perf_ns_of_ticks(const struct perf_time_conv *conv, struct clew_ticks t,
		      struct clew_perf_ns *ret)
{
	if (conv->is_short)
		t.ticks = conv->cycles + ((t.ticks - conv->cycles) & conv->mask);
	return perf_ns_of_unwrapped(conv, t, ret);
}

/** (a << shift) / b; a < b, shift at most 63: of 64 bits. */
static uint64_t shift_div(uint64_t a, uint64_t shift, uint64_t b)
{
	__extension__ unsigned __int128 shifted = a;

	return (uint64_t)((shifted << shift) / b);
}

bool perf_ticks_of_ns(const struct perf_time_conv *conv, struct clew_perf_ns t,
		      struct clew_ticks *ret)
{
	uint64_t since = t.ns - conv->zero, quot, rem, ticks;

	if (!perf_time_conv_is_usable(conv))
		return false;
	quot = since / conv->mult;
	rem = since % conv->mult;
	ticks = shift_div(rem, conv->shift, conv->mult);
	/* Both divisions round down: one tick more may be missing. */
	if (mul_shift(ticks, conv->mult, conv->shift) < rem)
		ticks++;
	ret->ticks = (quot << conv->shift) + ticks;
	return true;
}

bool perf_ns_of_cntvct(const struct perf_time_conv *conv, struct clew_cntvct t,
		       struct clew_perf_ns *ret)
{
	return perf_ns_of_ticks(conv, (struct clew_ticks){t.ticks}, ret);
}

bool perf_ns_of_tsc(const struct perf_time_conv *conv, struct clew_tsc t, struct clew_perf_ns *ret)
{
	return perf_ns_of_ticks(conv, (struct clew_ticks){t.ticks}, ret);
}
