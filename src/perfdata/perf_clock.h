/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_CLOCK_H
#define PERFDATA_PERF_CLOCK_H

#include <stdbool.h>

#include <clew/time.h>

#include "perfdata/perf_record.h"

/** Does the record convert at all? Some recorders write one of zeroes. */
static inline bool perf_time_conv_is_usable(const struct perf_time_conv *conv)
{
	return conv->mult && conv->shift <= 63;
}

/**
 * The place of @p ticks in time: what two of them are compared by. A short counter starts again
 * from 0, and counts from the conversion's own point.
 */
static inline uint64_t perf_ticks_order(const struct perf_time_conv *conv, struct clew_ticks t)
{
	return conv->is_short ? (t.ticks - conv->cycles) & conv->mask : t.ticks;
}

/** The least number of ticks with a time no earlier than @p t. @return false: not usable. */
bool perf_ticks_of_ns(const struct perf_time_conv *conv, struct clew_perf_ns t,
		      struct clew_ticks *ret);
/** As perf_ns_of_ticks(), of ticks that perf_ticks_of_ns() gave: they count on where a short
 * counter has wrapped. */
bool perf_ns_of_unwrapped(const struct perf_time_conv *conv, struct clew_ticks t,
			  struct clew_perf_ns *ret);
/** Of a counter that the caller knows to be the conversion's. Else as perf_ns_of_cntvct(). */
bool perf_ns_of_ticks(const struct perf_time_conv *conv, struct clew_ticks t,
		      struct clew_perf_ns *ret);

/**
 * Counter ticks as times of perf's own clock, by the recording's TIME_CONV record.
 * @return false: the record's shift or mult is impossible; @p ret is unchanged.
 * Spec: Linux include/uapi/linux/perf_event.h, perf_event_mmap_page.time_zero.
 */
bool perf_ns_of_cntvct(const struct perf_time_conv *conv, struct clew_cntvct t,
		       struct clew_perf_ns *ret);
bool perf_ns_of_tsc(const struct perf_time_conv *conv, struct clew_tsc t, struct clew_perf_ns *ret);

#endif
