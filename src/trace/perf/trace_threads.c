/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_threads.h"

#include "base/search.h"
#include "trace/perf/perf_trace_impl.h"

enum {
	MAX_SAME_TIME = 1024, /* chunks of one time that are searched; real files: one per CPU */
};

bool trace_time_of(const struct perf_trace *p, uint32_t unit, struct clew_ticks ticks,
		   struct clew_perf_ns *ret)
{
	const struct aux_units *u = perf_trace_units_of(p, unit);

	return p->has_time_conv && ticks.ticks &&
	       u->protocol->time(u->units, unit - u->first, &p->time_conv, ticks, ret);
}

static bool is_of_unit(const struct perf_trace *p, const struct aux_chunk *c, uint32_t unit)
{
	uint32_t only = c->ring == AUX_NONE ? AUX_NONE : p->chunks.rings.data[c->ring].unit;

	return only == AUX_NONE ? c->cpu == p->units.data[unit].cpu : only == unit;
}

/** The chunk of trace that ended at @p bound, and that may hold some of the unit's. */
static const struct aux_chunk *chunk_at(const struct perf_trace *p, uint32_t unit,
					struct clew_perf_ns bound)
{
	const struct aux_protocol *protocol = perf_trace_units_of(p, unit)->protocol;
	const struct aux_chunk *c = p->chunks.all.data, *other = NULL;
	size_t nr = p->chunks.all.nr, at = search_first(nr, i, c[i].time.ns >= bound.ns);

	for (size_t end = at + MAX_SAME_TIME; at < nr && at < end && c[at].time.ns == bound.ns;
	     at++) {
		if (c[at].buffer == AUX_NONE || c[at].is_uncovered)
			continue;
		if (is_of_unit(p, &c[at], unit))
			return &c[at];
		if (!other && protocol->is_shared && protocol->is_shared(&c[at]))
			other = &c[at];
	}
	return other;
}

const struct aux_chunk *trace_chunk_of(const struct perf_trace *p, uint32_t unit,
				       struct clew_perf_ns bound)
{
	return bound.ns ? chunk_at(p, unit, bound) : NULL;
}

struct trace_span trace_span_in(const struct perf_trace *p, uint32_t unit, struct clew_ticks ticks,
				struct clew_perf_ns bound, const struct aux_chunk *chunk)
{
	struct trace_span s = {.to = bound.ns ? bound : clew_perf_ns_none()};
	struct clew_perf_ns at;

	s.chunk = chunk;
	if (s.chunk)
		s.from = s.chunk->since;
	if (p->has_clock && trace_time_of(p, unit, ticks, &at) && at.ns <= s.to.ns) {
		s.from = at;
		s.is_ticks = true;
	}
	return s;
}

struct trace_span trace_span_of(const struct perf_trace *p, uint32_t unit, struct clew_ticks ticks,
				struct clew_perf_ns bound)
{
	return trace_span_in(p, unit, ticks, bound, trace_chunk_of(p, unit, bound));
}

struct clew_perf_ns trace_span_time(const struct trace_span *s)
{
	return s->is_ticks ? s->from : s->to;
}

uint32_t trace_tid_of(const struct perf_trace *p, const struct who_answer *a)
{
	if (a->kind != WHO_TASK)
		return AUX_NONE;
	if (a->has & WHO_A_LOCAL)
		return (uint32_t)a->local.n;
	/* A recorder in another namespace has other numbers. */
	return a->has & WHO_A_ROOT && who_ran_facts(p->ran.rule)->is_root.is != WHO_FACT_NO
		     ? a->root.n
		     : AUX_NONE;
}
