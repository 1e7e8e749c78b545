/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/merge_clock.h"

enum { MAX_SHIFT = 63 };

bool merge_clock_is_valid(const struct perf_time_conv *conv)
{
	double per_us;

	if (!conv->mult || conv->shift > MAX_SHIFT || !conv->has_zero)
		return false;
	per_us = merge_ticks_per_us(conv);
	return per_us >= 0.01 && per_us <= 100000;
}

double merge_ticks_per_us(const struct perf_time_conv *conv)
{
	return 1000.0 * (double)((uint64_t)1 << conv->shift) / (double)conv->mult;
}

uint64_t merge_ns_of(const struct perf_time_conv *conv, uint64_t ticks)
{
	return conv->zero + (uint64_t)((unsigned __int128)ticks * conv->mult >> conv->shift);
}

uint64_t merge_ticks_of(const struct perf_time_conv *conv, uint64_t ns)
{
	/* zero is often "negative": the difference is what counts. */
	unsigned __int128 n = (unsigned __int128)(ns - conv->zero) << conv->shift;

	return (uint64_t)((n + conv->mult - 1) / conv->mult);
}

int64_t merge_clock_time(const struct merge_clock *c, uint64_t ns)
{
	return (int64_t)((c->conv ? merge_ticks_of(c->conv, ns) : ns) - c->base);
}

uint64_t merge_clock_ns(const struct merge_clock *c, int64_t t)
{
	uint64_t v = c->base + (uint64_t)t;

	return c->conv ? merge_ns_of(c->conv, v) : v;
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
