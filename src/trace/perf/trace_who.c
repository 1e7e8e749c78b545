/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_who.h"

#include "perfdata/perf_format.h"
#include "trace/perf/perf_trace_impl.h"
#include "who/who_play.h"
#include "who/who_ran.h"

static bool is_sched(const struct perf_trace *p, const struct perf_attr *a)
{
	return p->sched.is_known && a->type == PERF_TYPE_TRACEPOINT && a->config == p->sched.id &&
	       a->sample_type & PERF_SAMPLE_RAW;
}

bool trace_who_wants_samples(struct perf_trace *p)
{
	const struct perf_evlist *l = perf_file_evlist(p->file);
	struct bytes formats = perf_file_features(p->file)->section[PERF_FEAT_TRACING_DATA];
	struct trace_sched *s = &p->sched;
	struct bytes text;
	uint32_t bytes[2];

	s->is_known = perf_format_find(formats, "sched_switch", &text, &s->id) &&
		      perf_format_field(text, "prev_pid", &s->prev, &bytes[0]) &&
		      perf_format_field(text, "next_pid", &s->next, &bytes[1]) && bytes[0] == 4 &&
		      bytes[1] == 4;
	vec_for_each (&l->evsels, e) {
		if (is_sched(p, &(*e)->attr))
			return true;
	}
	return false;
}

static enum clew_err take_sched(struct perf_trace *p, const struct perf_record *r,
				const struct perf_evsel *evsel, struct who_ran_stamp *stamp)
{
	const struct trace_sched *at = &p->sched;
	struct who_root_id prev, next;
	struct perf_sample s;

	if (!evsel || !is_sched(p, &evsel->attr))
		return CLEW_OK;
	if (perf_sample_parse(perf_record_body(r), r->misc, r->swap, &evsel->attr, &s) ||
	    bytes_left(&s.raw) < at->prev + 4 || bytes_left(&s.raw) < at->next + 4)
		return CLEW_BAD_FILE;
	prev.n = load_u32(s.raw.pos + at->prev, r->swap);
	next.n = load_u32(s.raw.pos + at->next, r->swap);
	stamp->cpu = s.cpu;
	stamp->pid = s.pid;
	stamp->tid = s.tid;
	return who_ran_take_sched(p->ran, prev, next, stamp);
}

enum clew_err trace_who_take(struct perf_trace *p, const struct perf_record *r,
			     const struct perf_evsel *evsel, const struct who_stamp *at)
{
	struct who_ran_stamp stamp = {.time = at->time,
				      .cpu = at->cpu,
				      .pid = at->pid,
				      .tid = at->tid,
				      .has_time = p->has_clock};

	if (at->machine || p->history.is_cut)
		return CLEW_OK;
	if (evsel) {
		stamp.is_inherited = perf_attr_has(&evsel->attr, PERF_ATTR_INHERIT) ||
				     perf_attr_has(&evsel->attr, PERF_ATTR_ENABLE_ON_EXEC);
		stamp.has_clockid = perf_attr_has(&evsel->attr, PERF_ATTR_USE_CLOCKID);
	}
	if (r->type == PERF_RECORD_SAMPLE)
		return take_sched(p, r, evsel, &stamp);
	return who_ran_takes(r->type) ? who_ran_take(p->ran, r, &stamp) : CLEW_OK;
}

enum clew_err trace_who_close(struct perf_trace *p)
{
	if (p->has_time_conv)
		who_ran_set_clock(p->ran, &p->time_conv);
	if (!who_ran_set_facts(p->ran, perf_file_who_facts(p->file)))
		return CLEW_NO_MEMORY;
	return who_ran_close(p->ran);
}
