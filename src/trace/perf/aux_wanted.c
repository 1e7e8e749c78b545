/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_wanted.h"

#include <stdlib.h>

#include "analyze/ana_filter.h"
#include "base/mem.h"
#include "base/search.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/trace_threads.h"
#include "who/who_runs.h"

/** A place of one ring, for the search. */
struct place {
	const struct aux_sync *sync;
	uint64_t ns;  /* when it was, or was known to be past: never less than before */
	bool is_true; /* compared with the trace */
};

struct job {
	const struct perf_trace *p;
	struct ana_filter_set filter;
	struct aux_index index;
	struct {
		VEC(struct place);
	} places;        /* with a time, of the ring at hand */
	uint8_t says[2]; /* by whether tracing is on: all that any of them says */
	uint32_t ring, unit;
	struct aux_wanted_ring *to;
	bool is_false; /* the index is not this trace's */
};

static bool has_threads(const struct job *j)
{
	return j->filter.has_tids || j->filter.has_pids || j->filter.has_comms;
}

static bool has_times(const struct job *j)
{
	return j->filter.from.ns || clew_perf_ns_is_known(j->filter.to);
}

/* --- places of a ring --- */

static bool collect_places(struct job *j)
{
	const struct aux_units *u = perf_trace_units_of(j->p, j->unit);
	struct clew_ticks now = {0};
	uint64_t last = 0;

	j->places.nr = 0;
	j->says[0] = j->says[1] = 0;
	vec_for_each (&j->index.data[j->ring].places, s) {
		struct place at = {.sync = s};
		struct clew_perf_ns time;
		uint64_t ticks;

		if (!(s->has & AUX_SYNC_TIME))
			continue;
		ticks = u->protocol->sync_ticks(u->units, s->stamp, now.ticks);
		now.ticks = ticks > now.ticks ? ticks : now.ticks;
		if (!trace_time_of(j->p, j->unit, now, &time))
			continue;
		last = time.ns > last ? time.ns : last;
		at.ns = last;
		j->says[!!(s->has & AUX_SYNC_ON)] |= s->has & (uint8_t)~AUX_SYNC_BRANCH;
		if (!vec_push(&j->places, at))
			return false;
	}
	return true;
}

/** Whatever any place of its kind says, it says: nothing before it has to be known. */
static bool is_complete(const struct job *j, const struct aux_sync *s)
{
	uint8_t all = j->says[!!(s->has & AUX_SYNC_ON)];

	return (s->has & all) == all;
}

static void use(struct job *j, size_t at)
{
	struct place *p = &j->places.data[at];

	if (!p->is_true && !aux_index_is_true(j->p, j->ring, p->sync))
		j->is_false = true;
	p->is_true = true;
}

/** The last complete place before number @p *at. @return false: there is none. */
static bool find_before(const struct job *j, size_t *at)
{
	while (*at > 0) {
		--*at;
		if (is_complete(j, j->places.data[*at].sync))
			return true;
	}
	return false;
}

static uint64_t begin_of(struct job *j, uint64_t ns)
{
	const struct place *all = j->places.data;
	size_t at = search_first(j->places.nr, i, all[i].ns >= ns);

	if (!find_before(j, &at))
		return 0;
	use(j, at);
	if (!find_before(j, &at))
		return 0;
	use(j, at);
	return all[at].sync->offset;
}

static uint64_t end_of(struct job *j, uint64_t ns)
{
	const struct place *all = j->places.data;
	size_t at = search_first(j->places.nr, i, all[i].ns > ns);

	while (at < j->places.nr && !(all[at].sync->has & AUX_SYNC_BRANCH))
		at++;
	if (at + 1 >= j->places.nr)
		return UINT64_MAX;
	use(j, at);
	use(j, at + 1);
	return all[at + 1].sync->offset;
}

/* --- ranges --- */

static bool add_range(struct job *j, uint64_t from, uint64_t end)
{
	struct aux_range r = {from, end};
	struct aux_range *last = j->to->nr ? &j->to->data[j->to->nr - 1] : NULL;

	if (!last || from > last->end)
		return vec_push(j->to, r);
	last->end = end > last->end ? end : last->end;
	return true;
}

/** What ran in [@p from, @p to], ns. Ascending. */
static bool add_time(struct job *j, uint64_t from, uint64_t to)
{
	uint64_t last = clew_perf_ns_is_known(j->filter.to) ? j->filter.to.ns : UINT64_MAX;

	from = from > j->filter.from.ns ? from : j->filter.from.ns;
	to = to < last ? to : last;
	if (from > to)
		return true;
	return add_range(j, begin_of(j, from), to == UINT64_MAX ? to : end_of(j, to));
}

/* --- threads --- */

static bool is_pid_wanted(struct job *j, const struct who_thread_line *l)
{
	vec_for_each (&l->tasks, t) {
		if (map_u64_get(&j->filter.pids, t->pid))
			return true;
	}
	return !l->tasks.nr;
}

static bool is_comm_wanted(const struct job *j, const struct who_thread_line *l)
{
	vec_for_each (&l->comms, c) {
		if (intern_has(&j->filter.comms, intern_get(&j->p->history.texts, c->value)))
			return true;
	}
	return !l->comms.nr;
}

/** At any time: what is unknown counts as wanted. */
static bool is_thread_wanted(struct job *j, uint32_t tid)
{
	const struct who_history *h = &j->p->history;
	const uint64_t *at;

	if (j->filter.has_tids && !map_u64_get(&j->filter.tids, tid))
		return false;
	at = map_u64_get(&h->by_tid, tid);
	if (!at)
		return true;
	return (!j->filter.has_pids || is_pid_wanted(j, &h->threads.data[*at])) &&
	       (!j->filter.has_comms || is_comm_wanted(j, &h->threads.data[*at]));
}

static bool is_number_wanted(const struct map_u64 *numbers, bool has_any, uint32_t number)
{
	return !has_any || map_u64_get(numbers, number) || map_u64_get(numbers, AUX_NONE);
}

/** No thread, or none that is known: @p number stands for it. */
static bool is_other_wanted(const struct job *j, uint32_t number)
{
	const struct ana_filter_set *f = &j->filter;

	return is_number_wanted(&f->tids, f->has_tids, number) &&
	       is_number_wanted(&f->pids, f->has_pids, number) &&
	       (!f->has_comms || (!number && intern_has(&f->comms, "swapper")));
}

static bool is_run_wanted(struct job *j, const struct who_run *r)
{
	if (r->kind == WHO_RUN_NONE)
		return is_other_wanted(j, AUX_NONE);
	if (r->kind != WHO_RUN_THREAD || r->is_sched || r->id.n < 0)
		return true;
	return r->id.n ? is_thread_wanted(j, (uint32_t)r->id.n) : is_other_wanted(j, 0);
}

/** In a switch runs one of those that it is between. */
static bool is_any_wanted(struct job *j, const struct who_run_cursor *c)
{
	if (c->run.kind != WHO_RUN_SWITCH)
		return is_run_wanted(j, &c->run);
	return !c->has_prev || !c->has_next || is_run_wanted(j, &c->prev) ||
	       is_run_wanted(j, &c->next);
}

/** The times at which a wanted thread may have run on the CPU. */
static bool add_runs(struct job *j, const struct who_runs *runs)
{
	struct who_run_cursor c;
	bool ok = who_runs_first(runs, &c) && add_time(j, 0, c.run.from.ns);

	for (bool more = ok; ok && more; more = who_runs_next(&c)) {
		struct clew_perf_ns to = who_runs_to(&c);

		if (is_any_wanted(j, &c))
			ok = add_time(j, c.run.from.ns,
				      clew_perf_ns_is_known(to) ? to.ns : UINT64_MAX);
	}
	return ok;
}

/* --- a ring --- */

/** Offsets ascend in the order in which the trace is read, so that ranges of them mean times. */
static bool is_ascending(const struct aux_chunks *q, uint32_t ring)
{
	uint64_t end = 0;

	vec_for_each (&q->all, c) {
		if (c->ring != ring || !c->bytes || c->buffer == AUX_NONE)
			continue;
		if (c->offset < end)
			return false;
		end = c->offset + c->bytes;
	}
	return true;
}

static bool is_indexed(const struct job *j)
{
	const struct perf_trace *p = j->p;

	return p->has_clock && p->units.data[j->unit].has_timestamps &&
	       perf_trace_units_of(p, j->unit)->protocol->find_sync;
}

/** All in the ring is of one thread that the filter does not want. */
static bool is_of_other(struct job *j, const struct trace_unit *u)
{
	if (!has_threads(j) || u->cpu != AUX_NONE || u->tid == AUX_NONE)
		return false;
	vec_for_each (&j->p->chunks.all, c) {
		if (c->ring == j->ring && c->owner.n != -1 && (uint32_t)c->owner.n != u->tid)
			return false;
	}
	return !is_thread_wanted(j, u->tid);
}

static bool want_ring(struct job *j)
{
	const struct perf_trace *p = j->p;
	const struct trace_unit *u = &p->units.data[j->unit];
	const struct who_runs *runs = NULL;

	if ((j->filter.has_cpus && !map_u64_get(&j->filter.cpus, u->cpu)) || is_of_other(j, u))
		return true;
	if (has_threads(j) && u->cpu != AUX_NONE && !who_ran_follows_tasks(p->ran.rule))
		runs = who_ran_runs(p->ran.rule, u->cpu);
	if ((!has_times(j) && !runs) || !is_indexed(j) || !is_ascending(&p->chunks, j->ring))
		return add_range(j, 0, UINT64_MAX);
	if (!collect_places(j))
		return false;
	return runs && runs->nr ? add_runs(j, runs) : add_time(j, 0, UINT64_MAX);
}

static bool want_all(struct job *j, struct aux_wanted *w)
{
	for (uint32_t i = 0; i < w->nr; i++) {
		j->ring = i;
		j->unit = j->p->chunks.rings.data[i].unit;
		j->to = &w->rings[i];
		j->to->nr = 0;
		if (!(j->unit == AUX_NONE ? add_range(j, 0, UINT64_MAX) : want_ring(j)))
			return false;
	}
	return true;
}

static bool has_protocol(const struct perf_trace *p)
{
	for (uint32_t i = 0; i < p->nr_protocols; i++) {
		if (p->protocols[i].protocol->find_sync)
			return true;
	}
	return false;
}

static enum clew_err want(struct job *j, struct aux_wanted *w)
{
	const struct perf_trace *p = j->p;
	enum clew_err err = ana_filter_init(&j->filter, p->wishes.filter, NULL);

	if (err) /* the filter's user says so */
		return err == CLEW_INVALID ? CLEW_OK : err;
	if (!j->filter.has_cpus && !has_threads(j) && !has_times(j))
		return CLEW_OK;
	w->nr = p->chunks.rings.nr;
	w->rings = mem_calloc(w->nr + 1, sizeof(*w->rings));
	if (!w->rings)
		return CLEW_NO_MEMORY;
	if (has_threads(j) || has_times(j))
		err = aux_index_load(&j->index, p);
	if (!err && !want_all(j, w))
		err = CLEW_NO_MEMORY;
	if (err || !j->is_false)
		return err;
	err = aux_index_renew(&j->index, p);
	return err || want_all(j, w) ? err : CLEW_NO_MEMORY;
}

enum clew_err aux_wanted_make(struct aux_wanted *w, const struct perf_trace *p)
{
	struct job j = {.p = p};
	enum clew_err err;

	if (!p->wishes.filter || !has_protocol(p))
		return CLEW_OK;
	err = want(&j, w);
	ana_filter_done(&j.filter);
	aux_index_done(&j.index);
	vec_done(&j.places);
	return err;
}

void aux_wanted_done(struct aux_wanted *w)
{
	for (size_t i = 0; w->rings && i < w->nr; i++)
		vec_done(&w->rings[i]);
	mem_free(w->rings);
	*w = (struct aux_wanted){0};
}

struct aux_range aux_wanted_at(const struct aux_wanted *w, uint32_t ring, uint64_t offset)
{
	const struct aux_wanted_ring *r;
	size_t at;

	if (!w->rings || ring >= w->nr)
		return (struct aux_range){0, UINT64_MAX};
	r = &w->rings[ring];
	at = search_first(r->nr, i, r->data[i].end > offset);
	return at < r->nr ? r->data[at] : (struct aux_range){UINT64_MAX, UINT64_MAX};
}
