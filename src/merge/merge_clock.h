/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_MERGE_CLOCK_H
#define MERGE_MERGE_CLOCK_H

#include "merge/guest_fit.h"
#include "perfdata/perf_record.h"

/** A recording's clock, as one side of a fit counts it. */
struct merge_clock {
	const struct perf_time_conv *conv; /* NULL: in ns */
	uint64_t base;                     /* ns or ticks that the fit calls 0 */
};

/** Does it say how ticks become ns? Where not, the counter is of no use. */
bool merge_clock_is_valid(const struct perf_time_conv *conv);

/** The first tick that is no earlier than @p ns, as if the counter never wrapped. @p conv is valid.
 */
uint64_t merge_ticks_of(const struct perf_time_conv *conv, uint64_t ns);

/** Ticks in a microsecond; at least one in a second. */
double merge_ticks_per_us(const struct perf_time_conv *conv);

/** A time of the recording as the fit counts it, and back. */
int64_t merge_clock_time(const struct merge_clock *c, uint64_t ns);
uint64_t merge_clock_ns(const struct merge_clock *c, int64_t t);

/** A guest's time on the host's clock. */
uint64_t merge_clock_convert(const struct merge_clock *host, const struct merge_clock *guest,
			     const struct fit_pieces *pieces, uint64_t ns);

#endif
