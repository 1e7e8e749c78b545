/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/proc.h"
#include "perfdata/perf_sample.h"
#include "record/open/counters.h"

/* The COMM record of ours, if @p r is it. */
static bool is_mark(const struct perf_record *r, const struct perf_attr *tracker,
		    struct perf_sample_id *ret)
{
	struct perf_comm comm;

	return r->type == PERF_RECORD_COMM && perf_comm_parse(r, &comm) == CLEW_OK &&
	       comm.pid == (uint32_t)os_pid() && comm.tid == comm.pid &&
	       perf_sample_id_parse(perf_record_body(r), false, tracker, ret) == CLEW_OK;
}

static uint64_t time_of_mark(const struct buf *records, const struct perf_attr *tracker)
{
	struct perf_event_header h;
	struct perf_sample_id id;

	for (size_t at = 0; records->nr - at >= sizeof(h); at += h.size) {
		memcpy(&h, records->data + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > records->nr - at)
			break;
		if (is_mark(&(struct perf_record){.data = (const uint8_t *)records->data + at,
						  .type = h.type,
						  .misc = h.misc,
						  .size = h.size},
			    tracker, &id))
			return id.time;
	}
	return 0;
}

static const struct perf_attr *tracker_of(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (e->is_tracking && e->is_enabled_at_open &&
		    e->attr.sample_type & PERF_SAMPLE_TIME)
			return &e->attr;
	return NULL;
}

void rec_counters_mark(struct rec_counters *c)
{
	const struct perf_attr *tracker = tracker_of(c);
	struct buf records = {0};

	c->tracked_from_ns = 0;
	if (!tracker || !c->target->is_system_wide)
		return;
	os_rename_to_same();
	vec_for_each (&c->rings, r) {
		struct bytes part[2];

		if (c->tracked_from_ns || r->is_backward || !os_ring_peek(&r->ring, part))
			continue;
		buf_clear(&records);
		buf_add(&records, part[0].pos, bytes_left(&part[0]));
		buf_add(&records, part[1].pos, bytes_left(&part[1]));
		if (!records.is_failed)
			c->tracked_from_ns = time_of_mark(&records, tracker);
	}
	buf_done(&records);
}
