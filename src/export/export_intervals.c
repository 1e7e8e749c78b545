/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_tracing.h"
#include "base/u64.h"
#include "export/export_impl.h"

/* Records that are no samples, and what they say of times: threads that went to or from a CPU, and
 * times in which nothing was recorded. */

enum { MAX_THROTTLED = 1 << 16 };

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

static enum clew_err emit_pause(struct export *x, const struct export_pause *p)
{
	if (p->to.ns <= p->from.ns || !clew_perf_ns_is_known(p->from) ||
	    !clew_perf_ns_is_known(p->to))
		return CLEW_OK;
	x->summary.nr_pauses++;
	x->summary.pause_ns = u64_sum(x->summary.pause_ns, p->to.ns - p->from.ns);
	return x->format->paused ? x->format->paused(x, p) : CLEW_OK;
}

/* The kernel stops an event that comes too often until its next tick. */
enum clew_err export_take_throttle(struct export *x, const struct ana_event *e)
{
	struct export_pause p = {
		.from = e->time, .cpu = e->cpu, .tid = UINT32_MAX, .why = "throttled"};
	struct perf_throttle t;
	uint64_t *from;

	if (perf_throttle_parse(&e->record, &t) != CLEW_OK)
		return CLEW_OK;
	from = map_u64_get(&x->throttled, t.stream_id);
	if (e->record.type == PERF_RECORD_THROTTLE) {
		if (from ? *from : x->throttled.nr >= MAX_THROTTLED)
			return CLEW_OK;
		return map_u64_put(&x->throttled, t.stream_id, e->time.ns) ? CLEW_OK
									   : CLEW_NO_MEMORY;
	}
	if (!from || !*from)
		return CLEW_OK;
	p.from.ns = *from;
	p.to = e->time;
	*from = 0;
	return emit_pause(x, &p);
}

static enum clew_err end_gaps(struct export *x, const struct ana_summary *run)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < run->nr_gaps && err == CLEW_OK; i++) {
		const struct ana_aux_gap *g = &run->gaps[i];
		const struct export_pause p = {g->from, g->to, g->cpu, UINT32_MAX, "buffer full"};

		err = emit_pause(x, &p);
	}
	return err;
}

/* Between the intervals in which an event that others pause and resume was on. */
static enum clew_err end_traced(struct export *x, const struct ana_intervals *in,
				const struct ana_traced *t)
{
	struct export_pause p = {
		.from = x->first_time, .cpu = t->cpu, .tid = t->tid, .why = "paused"};
	enum clew_err err = CLEW_OK;

	for (uint64_t i = t->first; i < t->first + t->nr && err == CLEW_OK; i++) {
		p.to = in->all.data[i].from;
		err = emit_pause(x, &p);
		p.from = in->all.data[i].to;
	}
	p.to = x->last_time;
	return err ? err : emit_pause(x, &p);
}

enum clew_err export_end_pauses(struct export *x, const struct ana_summary *run)
{
	enum clew_err err = end_gaps(x, run);

	if (!run->tracing)
		return err;
	vec_for_each (&run->tracing->intervals.traced, t)
		err = err ? err : end_traced(x, &run->tracing->intervals, t);
	return err;
}
