/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_clock.h"

static bool convert(const struct perf_time_conv *conv, uint64_t ticks, struct clew_perf_ns *ret)
{
	uint64_t quot, rem;

	if (conv->shift > 63 || !conv->mult)
		return false;
	if (conv->is_short)
		ticks = conv->cycles + ((ticks - conv->cycles) & conv->mask);
	quot = ticks >> conv->shift;
	rem = ticks & (((uint64_t)1 << conv->shift) - 1);
	ret->ns = conv->zero + quot * conv->mult + (rem * conv->mult >> conv->shift);
	return true;
}

bool perf_ns_of_cntvct(const struct perf_time_conv *conv, struct clew_cntvct t,
		       struct clew_perf_ns *ret)
{
	return convert(conv, t.ticks, ret);
}

bool perf_ns_of_tsc(const struct perf_time_conv *conv, struct clew_tsc t, struct clew_perf_ns *ret)
{
	return convert(conv, t.ticks, ret);
}
