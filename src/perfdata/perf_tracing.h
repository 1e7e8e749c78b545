/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_TRACING_H
#define PERFDATA_PERF_TRACING_H

#include <stdbool.h>

#include "base/bytes.h"

struct tep_handle;

/*
 * The formats of tracepoints that a recording carries (TRACING_DATA: a section of the file, or the
 * payload of a record), parsed by libtraceevent. Formats that it could not read safely are skipped.
 */

/**
 * All formats of @p data, copied. Formats after a truncation are missing. The caller calls
 * tep_free(). @return NULL when memory is short or @p data has no usable header.
 */
struct tep_handle *perf_tracing_parse(struct bytes data);

/** sched:sched_switch: attr.config, and where prev_pid and next_pid stand in the raw data. */
struct perf_sched_switch {
	uint64_t id;
	uint32_t prev_offset, next_offset;
};

/** @return false: @p data has no format of it with both fields, of four bytes. O(@p data). */
bool perf_sched_switch_find(struct bytes data, struct perf_sched_switch *ret);

#endif
