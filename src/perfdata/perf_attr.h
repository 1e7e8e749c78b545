/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_ATTR_H
#define PERFDATA_PERF_ATTR_H

#include <clew/err.h>

#include "base/bytes.h"
#include "perfdata/perf_abi.h"

/**
 * Read an attr of any generation. @p b holds exactly the bytes the file gives it; attr.size inside
 * may be smaller (older writer) or larger (newer kernel: the tail is dropped). Fields the file
 * lacks are 0. A size of 0 means VER0, as it does to the kernel.
 *
 * @return CLEW_OK; CLEW_TRUNCATED: fewer than 64 bytes; CLEW_BAD_FILE: attr.size contradicts @p b.
 */
enum clew_err perf_attr_parse(struct bytes b, bool swap, struct perf_attr *ret);

/** The attr as bytes for perf_event_open() and for files, in the host's order. O(1). */
void perf_attr_for_kernel(const struct perf_attr *attr, uint8_t ret[PERF_ATTR_SIZE_VER9]);

static inline bool perf_attr_has(const struct perf_attr *a, uint64_t flag)
{
	return a->flags & flag;
}

/** Does it count nanoseconds? */
static inline bool perf_attr_is_clock(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

static inline unsigned int perf_attr_precise_ip(const struct perf_attr *a)
{
	return (unsigned int)(a->flags >> PERF_ATTR_PRECISE_IP_SHIFT) & 3;
}

#endif
