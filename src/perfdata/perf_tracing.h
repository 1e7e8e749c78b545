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

/** A tracepoint: attr.config, and where fields of four bytes stand in the raw data. */
enum { PERF_TRACEPOINT_FIELDS = 2, PERF_NO_FIELD = UINT32_MAX };
struct perf_tracepoint {
	uint64_t id;
	uint32_t offsets[PERF_TRACEPOINT_FIELDS]; /* PERF_NO_FIELD: it has none of that name */
};

/** sched:sched_switch with prev_pid and next_pid. @return false: @p data has no such format.
 * O(@p data). */
bool perf_sched_switch_find(struct bytes data, struct perf_tracepoint *ret);
/** kvm:kvm_entry and kvm:kvm_exit with vcpu_id, which arm64 does not have. */
bool perf_kvm_find(struct bytes data, struct perf_tracepoint *ret_entry,
		   struct perf_tracepoint *ret_exit);

/** Read a field of raw data. @return false: it is not in there. */
bool perf_tracepoint_u32(struct bytes raw, uint32_t offset, bool swap, uint32_t *ret);

#endif
