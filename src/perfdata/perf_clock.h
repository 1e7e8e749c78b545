/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_CLOCK_H
#define PERFDATA_PERF_CLOCK_H

#include <stdbool.h>

#include <clew/time.h>

#include "perfdata/perf_record.h"

/**
 * Counter ticks as times of perf's own clock, by the recording's TIME_CONV record.
 * @return false: the record's shift or mult is impossible; @p ret is unchanged.
 * Spec: Linux include/uapi/linux/perf_event.h, perf_event_mmap_page.time_zero.
 */
bool perf_ns_of_cntvct(const struct perf_time_conv *conv, struct clew_cntvct t,
		       struct clew_perf_ns *ret);
bool perf_ns_of_tsc(const struct perf_time_conv *conv, struct clew_tsc t, struct clew_perf_ns *ret);

#endif
