/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_info.h"

#include <string.h>

#include "perfdata/perf_abi.h"

static size_t begin(uint32_t kind, struct buf *b)
{
	const struct perf_event_header h = {.type = PERF_RECORD_AUXTRACE_INFO};
	size_t at = b->nr;

	buf_add(b, &h, sizeof(h));
	buf_u32(b, kind);
	buf_u32(b, 0);
	return at;
}

static void end(struct buf *b, size_t at)
{
	uint16_t size = (uint16_t)(b->nr - at);

	if (!b->is_failed)
		memcpy(b->data + at + offsetof(struct perf_event_header, size), &size,
		       sizeof(size));
}

/* Spec: tools/perf/util/arm-spe.h, version 1: PMU's type, and whether buffers are per CPU. */
static void add_arm_spe(const struct rec_counters *c, const struct rec_counter *e, struct buf *b)
{
	buf_u64(b, e->attr.type);
	buf_u64(b, c->target->cpus.data[0] >= 0);
}

void rec_aux_info(const struct rec_counters *c, const struct rec_counter *e, struct buf *records)
{
	size_t at = begin(e->aux->info, records);

	if (e->aux->info == PERF_AUXTRACE_ARM_SPE)
		add_arm_spe(c, e, records);
	end(records, at);
}
