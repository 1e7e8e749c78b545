/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_pauses.h"

#include "analyze/ana_tracing.h"

enum { MAX_THROTTLED = 1 << 16 };

static enum clew_err emit(struct ana_pauses *x, const struct ana_pause *p)
{
	if (p->to.ns <= p->from.ns || !clew_perf_ns_is_known(p->from) ||
	    !clew_perf_ns_is_known(p->to))
		return CLEW_OK;
	return x->take(x->ctx, p);
}

/* The kernel stops an event that comes too often until its next tick. */
enum clew_err ana_pauses_throttle(struct ana_pauses *x, const struct ana_event *e)
{
	struct ana_pause p = {
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
	return emit(x, &p);
}

static enum clew_err end_gaps(struct ana_pauses *x, const struct ana_summary *run)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < run->nr_gaps && err == CLEW_OK; i++) {
		const struct ana_aux_gap *g = &run->gaps[i];
		const struct ana_pause p = {g->from, g->to, g->cpu, UINT32_MAX, "buffer full"};

		err = emit(x, &p);
	}
	return err;
}

/* Between the intervals in which an event that others pause and resume was on. */
static enum clew_err end_traced(struct ana_pauses *x, const struct ana_intervals *in,
				const struct ana_traced *t, struct clew_perf_ns first,
				struct clew_perf_ns last)
{
	struct ana_pause p = {.from = first, .cpu = t->cpu, .tid = t->tid, .why = "paused"};
	enum clew_err err = CLEW_OK;

	for (uint64_t i = t->first; i < t->first + t->nr && err == CLEW_OK; i++) {
		p.to = in->all.data[i].from;
		err = emit(x, &p);
		p.from = in->all.data[i].to;
	}
	p.to = last;
	return err ? err : emit(x, &p);
}

enum clew_err ana_pauses_end(struct ana_pauses *x, const struct ana_summary *run,
			     struct clew_perf_ns first, struct clew_perf_ns last)
{
	enum clew_err err = end_gaps(x, run);

	if (!run->tracing)
		return err;
	vec_for_each (&run->tracing->intervals.traced, t)
		err = err ? err : end_traced(x, &run->tracing->intervals, t, first, last);
	return err;
}

void ana_pauses_done(struct ana_pauses *x)
{
	map_u64_done(&x->throttled);
}
