/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/merge_clock.h"

#include "perfdata/perf_clock.h"

bool merge_clock_is_valid(const struct perf_time_conv *conv)
{
	double per_us;

	if (!perf_time_conv_is_usable(conv) || !conv->has_zero)
		return false;
	per_us = merge_ticks_per_us(conv);
	return per_us >= 0.01 && per_us <= 100000;
}

double merge_ticks_per_us(const struct perf_time_conv *conv)
{
	return 1000.0 * (double)((uint64_t)1 << conv->shift) / (double)conv->mult;
}

/* Both conversions succeed: merge_clock_is_valid(). */

static uint64_t ns_of(const struct perf_time_conv *conv, uint64_t ticks)
{
	struct clew_perf_ns ret = {0};

	perf_ns_of_unwrapped(conv, (struct clew_ticks){ticks}, &ret);
	return ret.ns;
}

uint64_t merge_ticks_of(const struct perf_time_conv *conv, uint64_t ns)
{
	struct clew_ticks ret = {0};

	perf_ticks_of_ns(conv, (struct clew_perf_ns){ns}, &ret);
	return ret.ticks;
}

int64_t merge_clock_time(const struct merge_clock *c, uint64_t ns)
{
	return (int64_t)((c->conv ? merge_ticks_of(c->conv, ns) : ns) - c->base);
}

uint64_t merge_clock_ns(const struct merge_clock *c, int64_t t)
{
	uint64_t v = c->base + (uint64_t)t;

	return c->conv ? ns_of(c->conv, v) : v;
}

uint64_t merge_clock_convert(const struct merge_clock *host, const struct merge_clock *guest,
			     const struct fit_pieces *pieces, uint64_t ns)
{
	int64_t t = merge_clock_time(guest, ns);

	/* Nothing is known of times that far from all others. */
	if (!fit_time_fits(t))
		return 0;
	return merge_clock_ns(host, t + fit_offset_at(pieces, t));
}
