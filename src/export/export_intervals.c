/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/u64.h"
#include "export/export_impl.h"

/* Records that are no samples, and what they say of times: threads that went to or from a CPU, and
 * times in which nothing was recorded. */

/* --- switches --- */

enum clew_err export_take_switch(struct export *x, const struct ana_event *e)
{
	struct export_switch s = {.time = e->time, .pid = e->pid, .tid = e->tid, .cpu = e->cpu};
	uint64_t *known = map_u64_get(&x->thread_of, (uint64_t)e->pid << 32 | e->tid);
	struct perf_switch w;

	if (!x->format->switched || perf_switch_parse(&e->record, &w) != CLEW_OK)
		return CLEW_OK;
	s.thread = known ? (uint32_t)*known : EXPORT_NONE;
	s.comm = export_text_of(&x->tables, e->comm);
	s.is_out = w.is_out;
	s.is_preempted = w.is_preempt;
	return s.comm == EXPORT_NONE ? CLEW_NO_MEMORY : x->format->switched(x, &s);
}

/* --- pauses --- */

enum clew_err export_take_pause(void *ctx, const struct ana_pause *p)
{
	struct export *x = ctx;

	x->summary.nr_pauses++;
	x->summary.pause_ns = u64_sum(x->summary.pause_ns, p->to.ns - p->from.ns);
	return x->format->paused ? x->format->paused(x, p) : CLEW_OK;
}
