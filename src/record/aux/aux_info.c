/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_info.h"

#include "perfdata/record_put.h"

/* Spec: tools/perf/util/arm-spe.h, version 1: PMU's type, and whether buffers are per CPU. */
static void add_arm_spe(const struct rec_counters *c, const struct rec_counter *e, struct buf *b)
{
	buf_u64(b, e->attr.type);
	buf_u64(b, c->target->cpus.data[0] >= 0);
}

void rec_aux_info(const struct rec_counters *c, const struct rec_counter *e, struct buf *records)
{
	size_t at = perf_record_begin(records, PERF_RECORD_AUXTRACE_INFO, 0);

	buf_u32(records, e->aux->info);
	buf_u32(records, 0);
	if (e->aux->info == PERF_AUXTRACE_ARM_SPE)
		add_arm_spe(c, e, records);
	perf_record_end(records, at);
}
