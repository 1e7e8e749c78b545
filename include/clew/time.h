/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLEW_TIME_H
#define CLEW_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Clocks are types: comparing two of them, or passing one for the other, does not compile. Ticks
 * become nanoseconds by what the recording says of its counter (perf's TIME_CONV record), and only
 * there: nanoseconds of one recording compare with each other, not with those of another.
 */

/** Nanoseconds of the clock the recording chose (attr.use_clockid), by default perf's own clock. */
struct clew_perf_ns {
	uint64_t ns;
};

/** No time: all ones. */
static inline struct clew_perf_ns clew_perf_ns_none(void)
{
	struct clew_perf_ns none = {UINT64_MAX};

	return none;
}

static inline bool clew_perf_ns_is_known(struct clew_perf_ns t)
{
	return t.ns != UINT64_MAX;
}

/** Ticks of the timestamps in a trace: of which counter, its unit says; 0: unknown. */
struct clew_ticks {
	uint64_t ticks;
};

/** Ticks of the x86 time stamp counter. */
struct clew_tsc {
	uint64_t ticks;
};

/** Ticks of Arm's virtual counter, CNTVCT_EL0. */
struct clew_cntvct {
	uint64_t ticks;
};

#endif
