/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_SAMPLE_PUT_H
#define PERFDATA_SAMPLE_PUT_H

#include "base/buf.h"
#include "perfdata/perf_sample.h"

/** Fields of perf_attr.sample_type that perf_sample_put() writes. */
#define PERF_SAMPLE_PUTS                                                                       \
 (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |               \
  PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |                \
  PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT | \
  PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR)

/**
 * Append @p s as a whole PERF_RECORD_SAMPLE, in the host's byte order; perf_sample_parse() reads it
 * with @p attr, which has PERF_SAMPLE_PUTS alone. Words of the chain and the branches are in the
 * host's order.
 * @return false: it does not fit into a record, and nothing was appended; or out of memory (out
 * says).
 */
bool perf_sample_put(struct buf *out, const struct perf_attr *attr, const struct perf_sample *s);

#endif
