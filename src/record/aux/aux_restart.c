/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_restart.h"

/* Of two events that are scheduled together, the times are equal; they are read one by one. */
enum { MAX_IDLE_NS = 50 * 1000 };

/* A driver stops when its next unit does not fit: the less room was left, the likelier. */
static bool was_full(const struct aux_restart *r)
{
	size_t margin = (r->watermark ? r->watermark : r->area / 2) / 4;

	if (margin < r->page)
		margin = r->page;
	return r->fill && (margin >= r->area || r->fill > r->area - margin);
}

/*
 * An area that is full when the trace begins ends it without a record; and a disable that was
 * pending when the event was restarted comes true at a later context switch: the kernel forgets it
 * only when it schedules the event out.
 * Spec: Linux 6.12 and 7.3 kernel/events/core.c, "event_sched_out"; ring_buffer.c,
 * "perf_aux_output_begin".
 */
static bool stood_still(const struct aux_restart *r)
{
	int64_t idle = (int64_t)(r->due - r->due_before - (r->ran - r->ran_before));

	return r->has_times && idle > MAX_IDLE_NS;
}

bool aux_restart_is_due(const struct aux_restart *r)
{
	return r->has_truncated || r->has_lost || was_full(r) || stood_still(r);
}
