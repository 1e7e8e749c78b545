/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_FORMAT_H
#define PERFDATA_PERF_FORMAT_H

#include <stdbool.h>

#include "base/bytes.h"

/**
 * The raw fields of a tracepoint, by the format texts that a recording carries (TRACING_DATA):
 * offsets move from kernel to kernel. O(bytes).
 * Spec: Linux 7.3 kernel/trace/trace_events.c, f_show().
 */

/** The text of event @p name, and its number (attr.config). @return false: there is none. */
bool perf_format_find(struct bytes tracing_data, const char *name, struct bytes *ret,
		      uint64_t *ret_id);

/** Where field @p name stands in the payload. @return false: there is none. */
bool perf_format_field(struct bytes text, const char *name, uint32_t *ret_offset,
		       uint32_t *ret_size);

#endif
