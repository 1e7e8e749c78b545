/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/merge_read.h"

#include <stdlib.h>

#include "analyze/ana_read.h"
#include "base/err.h"
#include "who/vcpu_name.h"

enum {
	MAX_VMMS = 1 << 10,
	MAX_VCPUS = 1 << 12, /* of all guests of a host, and of a guest */
	MAX_CPUS = 1 << 16,
	EDGE_BYTES = 64, /* an edge's in the lists of both units, and what they grow by */
};

struct scan {
	struct merge_scan *s;
	struct perf_file *file;
	bool is_host;
};

const char *merge_missing(const struct perf_evlist *l, bool needs_cpu)
{
	vec_for_each (&l->evsels, e) {
		const struct perf_attr *a = &(*e)->attr;

		if (!perf_attr_has(a, PERF_ATTR_SAMPLE_ID_ALL))
			return "ids in records that are no samples";
		if (!(a->sample_type & PERF_SAMPLE_TIME))
			return "times";
		if (!(a->sample_type & PERF_SAMPLE_TID))
			return "threads";
		if (needs_cpu && !(a->sample_type & PERF_SAMPLE_CPU))
			return "CPUs";
	}
	return l->evsels.nr ? NULL : "events";
}

static int64_t time_in(struct merge_scan *s, uint64_t ns)
{
	if (!s->has_base)
		s->base = ns;
	s->has_base = true;
	return (int64_t)(ns - s->base);
}

/* --- the host --- */

static struct fit_host_lane *lane_of(struct merge_scan *s, uint32_t tid)
{
	const uint64_t *at = map_u64_get(&s->threads, tid);

	return at ? &s->vmms.data[*at >> 32].host.lanes.data[(uint32_t)*at] : NULL;
}

static struct merge_vmm *vmm_of(struct merge_scan *s, uint32_t pid)
{
	vec_for_each (&s->vmms, v) {
		if (v->pid == pid)
			return v;
	}
	if (s->vmms.nr >= MAX_VMMS)
		return &s->vmms.data[0]; /* no real host has so many: any will do */
	if (!vec_push(&s->vmms, (struct merge_vmm){.pid = pid}))
		return NULL;
	return &s->vmms.data[s->vmms.nr - 1];
}

static enum clew_err take_comm(struct merge_scan *s, const struct perf_record *r)
{
	struct fit_host_lane *lane;
	struct merge_vmm *vmm;
	struct perf_comm c;
	uint32_t vcpu;

	if (perf_comm_parse(r, &c) || !who_vcpu_of_name(c.comm, &vcpu) || !c.tid ||
	    c.tid == UINT32_MAX || map_u64_get(&s->threads, c.tid) || s->threads.nr >= MAX_VCPUS)
		return CLEW_OK;
	vmm = vmm_of(s, c.pid);
	lane = vmm ? fit_host_lane(&vmm->host, vcpu, c.tid) : NULL;
	if (!lane || !map_u64_put(&s->threads, c.tid,
				  (uint64_t)(vmm - s->vmms.data) << 32 |
					  (uint32_t)(lane - vmm->host.lanes.data)))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

static enum clew_err take_host_switch(struct merge_scan *s, const struct perf_record *r,
				      const struct perf_sample_id *id)
{
	struct fit_host_lane *lane = lane_of(s, id->tid);
	struct perf_switch w;

	if (perf_switch_parse(r, &w))
		return CLEW_OK;
	s->nr_switches++;
	if (!lane)
		return CLEW_OK;
	s->nr_edges++;
	if (fit_host_seen(lane, time_in(s, id->time), id->cpu))
		return CLEW_NO_MEMORY;
	if (!w.is_out)
		return fit_host_in(lane, time_in(s, id->time));
	return fit_host_out(lane, time_in(s, id->time), !w.is_preempt);
}

/* Any vcpu's thread may have come there, or have gone. */
static enum clew_err take_lost(struct merge_scan *s, const struct perf_sample_id *id)
{
	const uint64_t *last = map_u64_get(&s->last, id->cpu);
	int64_t out = time_in(s, id->time), in = last ? time_in(s, *last) : out;

	if (!fit_time_fits(in) || !fit_time_fits(out))
		return CLEW_OK;
	s->nr_edges += s->vmms.nr + s->threads.nr;
	vec_for_each (&s->vmms, v) {
		if (!vec_push(&v->host.holes, (struct fit_stay){in, out}))
			return CLEW_NO_MEMORY;
		vec_for_each (&v->host.lanes, l) {
			fit_host_unseen(l, in);
			if (l->cpu == id->cpu)
				fit_host_lost(l);
		}
	}
	return CLEW_OK;
}

static enum clew_err take_host(struct merge_scan *s, const struct perf_record *r,
			       const struct perf_sample_id *id)
{
	enum clew_err err = CLEW_OK;

	if (r->type == PERF_RECORD_COMM)
		return take_comm(s, r);
	if (r->type == PERF_RECORD_SWITCH || r->type == PERF_RECORD_SWITCH_CPU_WIDE)
		err = take_host_switch(s, r, id);
	else if (r->type == PERF_RECORD_LOST && s->vmms.nr)
		err = take_lost(s, id);
	if (!err && id->cpu < MAX_CPUS && !map_u64_put(&s->last, id->cpu, id->time))
		err = CLEW_NO_MEMORY;
	return err;
}

/* --- a guest --- */

static struct fit_guest_lane *guest_lane_of(struct merge_scan *s, uint32_t cpu)
{
	const uint64_t *at = map_u64_get(&s->cpus, cpu);
	struct fit_guest_lane *lane;

	if (at)
		return &s->guest.lanes.data[*at];
	lane = fit_guest_lane(&s->guest, cpu);
	return lane && map_u64_put(&s->cpus, cpu, s->guest.lanes.nr - 1) ? lane : NULL;
}

static enum clew_err take_guest_event(struct merge_scan *s, uint32_t cpu, uint64_t ns)
{
	struct fit_guest_lane *lane = cpu < MAX_VCPUS ? guest_lane_of(s, cpu) : NULL;

	s->nr_edges++;
	if (cpu >= MAX_VCPUS)
		return CLEW_OK;
	return lane ? fit_guest_event(lane, time_in(s, ns)) : CLEW_NO_MEMORY;
}

static enum clew_err take_guest_switch(struct merge_scan *s, const struct perf_record *r,
				       const struct perf_sample_id *id)
{
	struct fit_guest_lane *lane;
	struct perf_switch w;

	if (perf_switch_parse(r, &w) || id->cpu >= MAX_VCPUS)
		return CLEW_OK;
	s->nr_switches++;
	s->nr_edges += 2;
	lane = guest_lane_of(s, id->cpu);
	if (!lane || (w.has_other && fit_guest_ids(lane, time_in(s, id->time), w.is_out, id->tid,
						   w.next_prev_tid)))
		return CLEW_NO_MEMORY;
	return fit_guest_switch(lane, time_in(s, id->time), w.is_out, !id->tid);
}

static enum clew_err take_guest_lost(struct merge_scan *s, uint32_t cpu)
{
	struct fit_guest_lane *lane = cpu < MAX_VCPUS ? guest_lane_of(s, cpu) : NULL;

	if (lane)
		fit_guest_lost(lane);
	return lane || cpu >= MAX_VCPUS ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_guest_sample(struct scan *c, const struct perf_record *r)
{
	const struct perf_evsel *e = perf_evlist_of_record(perf_file_evlist(c->file), r->type,
							   perf_record_body(r), r->swap);
	struct perf_sample sample;

	if (!e || perf_sample_parse(perf_record_body(r), r->misc, r->swap, &e->attr, &sample) ||
	    !sample.time)
		return CLEW_OK;
	return take_guest_event(c->s, sample.cpu, sample.time);
}

/* --- the pass --- */

static enum clew_err take_conv(struct merge_scan *s, const struct perf_record *r)
{
	s->has_conv = !perf_time_conv_parse(r, &s->conv) && merge_clock_is_valid(&s->conv);
	return CLEW_OK;
}

static bool is_other_clock(const struct perf_evlist *l)
{
	vec_for_each (&l->evsels, e) {
		if (perf_attr_has(&(*e)->attr, PERF_ATTR_USE_CLOCKID))
			return true;
	}
	return false;
}

static enum clew_err take(struct scan *c, const struct perf_record *r)
{
	const struct perf_evsel *e;
	struct perf_sample_id id;

	if (r->type == PERF_RECORD_TIME_CONV)
		return take_conv(c->s, r);
	if (r->type >= PERF_RECORD_HEADER_ATTR || c->s->is_cut)
		return CLEW_OK;
	if (r->type == PERF_RECORD_SAMPLE)
		return take_guest_sample(c, r);
	e = perf_evlist_of_record(perf_file_evlist(c->file), r->type, perf_record_body(r), r->swap);
	if (!e)
		e = perf_file_evlist(c->file)->evsels.data[0]; /* made up by the recorder */
	if (perf_sample_id_parse(perf_record_body(r), r->swap, &e->attr, &id))
		return CLEW_OK;
	if (c->is_host)
		return take_host(c->s, r, &id);
	if (r->type == PERF_RECORD_SWITCH || r->type == PERF_RECORD_SWITCH_CPU_WIDE)
		return take_guest_switch(c->s, r, &id);
	if (r->type == PERF_RECORD_LOST)
		return take_guest_lost(c->s, id.cpu);
	return CLEW_OK;
}

static enum clew_err take_all(struct scan *c, const struct perf_input *in, struct clew_diag *diag)
{
	struct ana_reader reader;
	struct perf_record r;
	struct clew_perf_ns time;
	enum clew_err err = ana_reader_init(&reader, c->file, in, in->is_mapped);

	reader.skips_samples = c->is_host;
	while (!err && !(err = ana_reader_next(&reader, &r, &time, diag))) {
		err = take(c, &r);
		c->s->is_cut |= c->s->nr_edges >= c->s->max_edges;
		perf_block_release(r.block);
	}
	ana_reader_done(&reader);
	return err == CLEW_END || err == CLEW_TRUNCATED ? CLEW_OK : err;
}

static int by_in(const void *a, const void *b)
{
	const struct fit_stay *x = a, *y = b;

	return (x->in > y->in) - (x->in < y->in);
}

static void sort_stays(struct fit_stays *s)
{
	if (s->nr)
		qsort(s->data, s->nr, sizeof(*s->data), by_in);
}

/** What losses make is in no order. */
static void sort_holes(struct merge_scan *s)
{
	vec_for_each (&s->vmms, v) {
		sort_stays(&v->host.holes);
		vec_for_each (&v->host.lanes, l)
			sort_stays(&l->moves);
	}
}

static enum clew_err scan(const struct perf_input *in, bool is_host, struct merge_scan *ret,
			  struct clew_diag *diag)
{
	struct scan c = {.s = ret, .is_host = is_host};
	const char *missing;
	enum clew_err err;

	*ret = (struct merge_scan){.max_edges = budget_left(in->budget) / EDGE_BYTES};
	if (ret->max_edges > MERGE_CUT_EDGES)
		ret->max_edges = MERGE_CUT_EDGES;
	err = perf_file_open(&c.file, in, diag);
	if (err)
		return err;
	missing = merge_missing(perf_file_evlist(c.file), !is_host);
	if (perf_file_is_swapped(c.file))
		err = clew_fail(diag, CLEW_UNSUPPORTED, 0, "it is of the other byte order");
	else if (perf_file_is_pipe(c.file))
		err = clew_fail(diag, CLEW_UNSUPPORTED, 0, "it is the content of a pipe");
	else if (missing)
		err = clew_fail(diag, CLEW_UNSUPPORTED, 0, missing);
	else
		err = take_all(&c, in, diag);
	sort_holes(ret);
	/* The counter has nothing to do with times of another clock. */
	ret->has_conv = ret->has_conv && !is_other_clock(perf_file_evlist(c.file));
	perf_file_free(c.file);
	return err;
}

enum clew_err merge_scan_host(const struct perf_input *in, struct merge_scan *ret,
			      struct clew_diag *diag)
{
	return scan(in, true, ret, diag);
}

enum clew_err merge_scan_guest(const struct perf_input *in, struct merge_scan *ret,
			       struct clew_diag *diag)
{
	return scan(in, false, ret, diag);
}

static int by_at(const void *a, const void *b)
{
	const struct fit_id *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

bool merge_scan_add_id(struct merge_scan *s, uint32_t tid, uint64_t ns, uint32_t id)
{
	struct fit_host_lane *lane = lane_of(s, tid);
	int64_t t = (int64_t)(ns - s->base);

	return !lane || !fit_time_fits(t) || vec_push(&lane->ids, (struct fit_id){t, id});
}

void merge_scan_sort_ids(struct merge_scan *s)
{
	vec_for_each (&s->vmms, v) {
		vec_for_each (&v->host.lanes, l) {
			if (l->ids.nr)
				qsort(l->ids.data, l->ids.nr, sizeof(*l->ids.data), by_at);
		}
	}
}

void merge_scan_done(struct merge_scan *s)
{
	vec_for_each (&s->vmms, v)
		fit_host_done(&v->host);
	vec_done(&s->vmms);
	map_u64_done(&s->threads);
	map_u64_done(&s->cpus);
	map_u64_done(&s->last);
	fit_guest_done(&s->guest);
}

/* --- in ticks --- */

static bool convert(const struct merge_clock *ns, const struct merge_clock *to,
		    const struct fit_times *of, struct fit_times *ret)
{
	vec_for_each (of, t) {
		if (!vec_push(ret, merge_clock_time(to, merge_clock_ns(ns, *t))))
			return false;
	}
	return true;
}

static bool convert_stays(const struct merge_clock *ns, const struct merge_clock *to,
			  const struct fit_stays *of, struct fit_stays *ret)
{
	vec_for_each (of, s) {
		struct fit_stay stay = {merge_clock_time(to, merge_clock_ns(ns, s->in)),
					merge_clock_time(to, merge_clock_ns(ns, s->out))};

		if (!vec_push(ret, stay))
			return false;
	}
	return true;
}

static bool convert_ids(const struct merge_clock *ns, const struct merge_clock *to,
			const struct fit_ids *of, struct fit_ids *ret)
{
	vec_for_each (of, i) {
		int64_t at = merge_clock_time(to, merge_clock_ns(ns, i->at));

		if (!vec_push(ret, (struct fit_id){at, i->id}))
			return false;
	}
	return true;
}

static bool convert_runs(const struct merge_clock *ns, const struct merge_clock *to,
			 const struct fit_id_runs *of, struct fit_id_runs *ret)
{
	vec_for_each (of, r) {
		struct fit_id_run run = {merge_clock_time(to, merge_clock_ns(ns, r->from)),
					 merge_clock_time(to, merge_clock_ns(ns, r->to)), r->id};

		if (!vec_push(ret, run))
			return false;
	}
	return true;
}

bool merge_host_in(const struct merge_clock *ns, const struct merge_clock *to,
		   const struct fit_host *of, struct fit_host *ret)
{
	vec_for_each (&of->lanes, l) {
		struct fit_host_lane *n = fit_host_lane(ret, l->vcpu, l->tid);

		if (!n || !convert(ns, to, &l->wakes, &n->wakes) ||
		    !convert(ns, to, &l->sleeps, &n->sleeps) ||
		    !convert_stays(ns, to, &l->stays, &n->stays) ||
		    !convert_ids(ns, to, &l->ids, &n->ids))
			return false;
	}
	return convert_stays(ns, to, &of->holes, &ret->holes);
}

bool merge_guest_in(const struct merge_clock *ns, const struct merge_clock *to,
		    const struct fit_guest *of, struct fit_guest *ret)
{
	vec_for_each (&of->lanes, l) {
		struct fit_guest_lane *n = fit_guest_lane(ret, l->vcpu);

		if (!n || !convert(ns, to, &l->idle_outs, &n->idle_outs) ||
		    !convert(ns, to, &l->idle_ins, &n->idle_ins) ||
		    !convert(ns, to, &l->events, &n->events) ||
		    !convert_runs(ns, to, &l->runs, &n->runs))
			return false;
	}
	return true;
}
