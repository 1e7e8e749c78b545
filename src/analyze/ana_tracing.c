/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_tracing.h"

#include "perfdata/aux_layout.h"

static bool is_trigger(const struct perf_attr *a)
{
	return a->aux_action & (PERF_AUX_PAUSE | PERF_AUX_RESUME);
}

static bool may_be_trace(const struct perf_attr *a)
{
	return a->type >= PERF_TYPE_MAX_STATIC && !is_trigger(a);
}

static void look_at(struct ana_tracing *x, const struct perf_evlist *l)
{
	size_t i = x->before.nr;
	uint32_t before = i ? x->before.data[i - 1] : ANA_TRACED_NONE;

	if (i && may_be_trace(&l->evsels.data[i - 1]->attr))
		before = (uint32_t)i - 1;
	x->has_triggers |= is_trigger(&l->evsels.data[i]->attr);
	x->is_failed = !vec_push(&x->before, before);
}

bool ana_tracing_is_switched(struct ana_tracing *x, const struct perf_evlist *l)
{
	while (x->before.nr < l->evsels.nr && !x->is_failed) /* more come, in pipes */
		look_at(x, l);
	return x->has_triggers;
}

/* The event that a trigger switches: its leader, or where groups are not described, the nearest
 * event of a PMU before it. */
static const struct perf_evsel *aux_event_of(const struct ana_tracing *x,
					     const struct perf_evlist *l,
					     const struct perf_evsel *e)
{
	uint32_t before = x->before.data[e->index];

	if (e->leader != e->index && e->leader < l->evsels.nr)
		return l->evsels.data[e->leader];
	return before == ANA_TRACED_NONE ? NULL : l->evsels.data[before];
}

/** Where the one state is that a record's event, thread and CPU are under. */
struct place {
	uint32_t aux_event, tid, cpu;
};

static struct place place_of(const struct ana_tracing *x, const struct perf_evsel *aux,
			     const struct perf_evsel *e, const struct perf_sample_id *id)
{
	bool is_inherited = perf_attr_has(&e->attr, PERF_ATTR_INHERIT);
	struct place p = {aux ? aux->index : ANA_TRACED_NONE, id->tid,
			  is_inherited ? id->cpu : ANA_TRACED_NONE};
	struct perf_id_owner of;

	if (aux && aux->attr.type == AUX_SOFT_PT_TYPE) { /* a thread's, wherever it runs */
		p.cpu = ANA_TRACED_NONE;
		return p;
	}
	if (!perf_id_owners_get(&x->owners, id->id, &of))
		return p;
	p.cpu = of.cpu;
	if (of.tid == ANA_TRACED_NONE || !is_inherited)
		p.tid = of.tid;
	return p;
}

/* The kernel pauses before it writes the sample, and resumes after it. */
static bool act(struct ana_intervals *all, uint32_t of, uint32_t action, struct clew_perf_ns time)
{
	if (!clew_perf_ns_is_known(time)) {
		all->nr_omitted++;
		return true;
	}
	if (action & PERF_AUX_PAUSE)
		ana_intervals_pause(all, of, time);
	return !(action & PERF_AUX_RESUME) || ana_intervals_resume(all, of, time);
}

static enum clew_err take_sample(struct ana_tracing *x, const struct perf_evlist *l,
				 const struct perf_evsel *e, const struct perf_record *r)
{
	const struct perf_evsel *aux = aux_event_of(x, l, e);
	bool starts_paused = aux && aux->attr.aux_action & PERF_AUX_START_PAUSED;
	struct ana_intervals *all = &x->intervals;
	struct perf_sample_id id;
	struct perf_sample s;
	struct place p;
	uint32_t of;

	if (!is_trigger(&e->attr) ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &e->attr, &s) != CLEW_OK)
		return CLEW_OK;
	id = (struct perf_sample_id){.id = s.id, .tid = s.tid, .cpu = s.cpu};
	p = place_of(x, aux, e, &id);
	all->has_running |= !starts_paused;
	if (!ana_intervals_of(all, p.aux_event, p.tid, p.cpu, starts_paused, &of))
		return CLEW_NO_MEMORY;
	if (of == ANA_TRACED_NONE)
		return CLEW_OK;
	return act(all, of, e->attr.aux_action, (struct clew_perf_ns){s.time}) ? CLEW_OK
									       : CLEW_NO_MEMORY;
}

static void take_aux(struct ana_tracing *x, const struct perf_evsel *e, const struct perf_record *r)
{
	struct ana_intervals *all = &x->intervals;
	struct perf_sample_id id;
	struct perf_aux aux;
	struct place p;
	uint32_t of;

	if (perf_aux_parse(r, &aux) != CLEW_OK ||
	    perf_sample_id_parse(perf_record_body(r), r->swap, &e->attr, &id) != CLEW_OK)
		return;
	all->is_snapshot |= (aux.flags & PERF_AUX_FLAG_OVERWRITE) != 0;
	p = place_of(x, e, e, &id);
	of = ana_intervals_find(all, p.aux_event, p.tid, p.cpu);
	if (of != ANA_TRACED_NONE)
		ana_intervals_aux(all, of, (struct clew_perf_ns){id.time}, aux.size,
				  aux.flags & PERF_AUX_FLAG_TRUNCATED);
}

static void take_throttle(struct ana_tracing *x, const struct perf_evlist *l,
			  const struct perf_record *r)
{
	const struct perf_evsel *e;
	struct perf_throttle t;

	if (perf_throttle_parse(r, &t) != CLEW_OK)
		return;
	e = perf_evlist_by_id(l, t.id);
	/* Of its group, the kernel (7.3) stops all and logs the leader alone. */
	if (!e || (!e->attr.aux_action && e->attr.type < PERF_TYPE_MAX_STATIC))
		return;
	if (!x->nr_throttled++)
		x->throttled_from.ns = t.time;
	x->throttled_to.ns = t.time;
}

static void take_exit(struct ana_tracing *x, const struct perf_record *r, struct clew_perf_ns time)
{
	struct perf_task t;

	if (perf_task_parse(r, &t) == CLEW_OK)
		ana_intervals_exit(&x->intervals, t.tid, time);
}

enum clew_err ana_tracing_take_switched(struct ana_tracing *x, const struct perf_evlist *l,
					const struct perf_record *r, struct clew_perf_ns time)
{
	bool is_switched = ana_tracing_is_switched(x, l);
	const struct perf_evsel *e;

	if (!is_switched || x->is_failed)
		return x->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
	switch (r->type) {
	case PERF_RECORD_ID_INDEX:
		return perf_id_owners_take(&x->owners, &x->intervals.account, r) ? CLEW_OK
										 : CLEW_NO_MEMORY;
	case PERF_RECORD_THROTTLE:
		take_throttle(x, l, r);
		return CLEW_OK;
	case PERF_RECORD_EXIT:
		take_exit(x, r, time);
		return CLEW_OK;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		x->intervals.nr_lost++;
		return CLEW_OK;
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_AUX:
		break;
	default:
		return CLEW_OK;
	}
	e = perf_evlist_of_record(l, r->type, perf_record_body(r), r->swap);
	if (!e)
		return CLEW_OK;
	if (r->type == PERF_RECORD_SAMPLE)
		return take_sample(x, l, e, r);
	take_aux(x, e, r);
	return CLEW_OK;
}

void ana_tracing_done(struct ana_tracing *x)
{
	ana_intervals_done(&x->intervals);
	map_u64_done(&x->owners);
	vec_done(&x->before);
}
