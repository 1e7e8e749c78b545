/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/sample_put.h"

#include "perfdata/record_put.h"

enum { MAX_RECORD = UINT16_MAX & ~7 };

static void put_head(struct buf *b, uint64_t type, const struct perf_sample *s)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		buf_u64(b, s->id);
	if (type & PERF_SAMPLE_IP)
		buf_u64(b, s->ip);
	if (type & PERF_SAMPLE_TID) {
		buf_u32(b, s->pid);
		buf_u32(b, s->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		buf_u64(b, s->time);
	if (type & PERF_SAMPLE_ADDR)
		buf_u64(b, s->addr);
	if (type & PERF_SAMPLE_ID)
		buf_u64(b, s->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		buf_u64(b, s->stream_id);
	if (type & PERF_SAMPLE_CPU)
		buf_u64(b, s->cpu); /* and 32 reserved bits */
	if (type & PERF_SAMPLE_PERIOD)
		buf_u64(b, s->period);
}

static void put_words(struct buf *b, const struct perf_words *w)
{
	buf_add(b, w->data, 8 * (size_t)w->nr);
}

static void put_lists(struct buf *b, const struct perf_attr *attr, const struct perf_sample *s)
{
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN) {
		buf_u64(b, s->callchain.nr);
		put_words(b, &s->callchain);
	}
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		buf_u64(b, s->branches.nr);
		if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			buf_u64(b, s->branches.hw_idx);
		put_words(b, &s->branches.words);
	}
}

static void put_tail(struct buf *b, uint64_t type, const struct perf_sample *s)
{
	if (type & PERF_SAMPLE_WEIGHT)
		buf_u64(b, s->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		buf_u64(b, s->data_src);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		buf_u64(b, s->phys_addr);
}

bool perf_sample_put(struct buf *out, const struct perf_attr *attr, const struct perf_sample *s)
{
	size_t at = perf_record_begin(out, PERF_RECORD_SAMPLE, s->misc);

	put_head(out, attr->sample_type, s);
	put_lists(out, attr, s);
	put_tail(out, attr->sample_type, s);
	if (out->nr - at > MAX_RECORD) {
		out->nr = out->is_failed ? out->nr : at;
		return false;
	}
	perf_record_end(out, at);
	return !out->is_failed;
}
