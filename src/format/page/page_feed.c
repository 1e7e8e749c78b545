/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "format/page/page_impl.h"
#include "os/create.h"
#include "os/file.h"
#include "perfdata/perf_record.h"

static enum clew_err add_pause(void *ctx, const struct ana_pause *pause)
{
	struct page_feed *p = ctx;

	if (p->pauses.nr == PAGE_MAX_PAUSES) {
		p->nr_more_pauses++;
		return CLEW_OK;
	}
	return vec_push(&p->pauses, *pause) ? CLEW_OK : CLEW_NO_MEMORY;
}

struct page_feed *page_feed_new(int *ret_errno)
{
	struct page_feed *p = mem_zalloc(sizeof(*p));

	*ret_errno = -ENOMEM;
	if (!p)
		return NULL;
	p->fd = *ret_errno = os_create_unnamed();
	p->last_thread_key = UINT64_MAX;
	p->last_thread = PAGE_NONE;
	p->min_weight = UINT64_MAX;
	p->pausing = (struct ana_pauses){.take = add_pause, .ctx = p};
	if (p->fd >= 0 && intern_str(&p->texts, "") != INTERN_FAILED &&
	    intern_str(&p->cgroups, "") != INTERN_FAILED) /* 0: of samples without one */
		return p;
	page_feed_free(p);
	return NULL;
}

void page_feed_free(struct page_feed *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		os_close(p->fd);
	vec_done(&p->threads);
	vec_done(&p->records);
	map_u64_done(&p->thread_of);
	vec_done(&p->pauses);
	ana_pauses_done(&p->pausing);
	page_intervals_done(&p->intervals);
	page_intervals_done(&p->levels);
	page_intervals_done(&p->calls);
	intern_done(&p->texts);
	intern_done(&p->cgroups);
	mem_free(p);
}

int page_feed_errno(const struct page_feed *p)
{
	return p->os_errno           ? p->os_errno
	     : p->intervals.os_errno ? p->intervals.os_errno
	     : p->levels.os_errno    ? p->levels.os_errno
				     : p->calls.os_errno;
}

static bool add_comm(struct page_feed *p, struct page_thread *t, const char *comm)
{
	uint32_t text = intern_str(&p->texts, comm ? comm : "");

	t->last = comm;
	if (text == INTERN_FAILED)
		return false;
	for (uint32_t i = 0; i < t->nr_comms; i++) {
		if (t->comms[i] == text)
			return true;
	}
	if (t->nr_comms == PAGE_MAX_COMMS) {
		t->nr_more_comms++;
		t->nr_comms--;
	}
	t->comms[t->nr_comms++] = text;
	return true;
}

/* PAGE_NONE: no memory. */
static uint32_t thread_of(struct page_feed *p, const struct ana_event *e)
{
	uint64_t key = (uint64_t)e->pid << 32 | e->tid;
	const char *comm = e->comm;
	uint64_t *known;
	struct page_thread *t;

	if (key == p->last_thread_key && p->last_thread != PAGE_NONE)
		known = NULL;
	else if ((known = map_u64_get(&p->thread_of, key)))
		p->last_thread = (uint32_t)*known;
	else if (vec_push(&p->threads, (struct page_thread){.pid = e->pid, .tid = e->tid}) &&
		 map_u64_put(&p->thread_of, key, p->threads.nr - 1))
		p->last_thread = (uint32_t)p->threads.nr - 1;
	else
		return PAGE_NONE;
	p->last_thread_key = key;
	t = &p->threads.data[p->last_thread];
	if ((t->last != comm || !t->nr_comms) && !add_comm(p, t, comm))
		return PAGE_NONE;
	return p->last_thread;
}

static uint16_t cgroup_of(struct page_feed *p, const struct ana_event *e)
{
	if (e->cgroup == p->last_cgroup)
		return (uint16_t)p->last_cgroup_nr;
	p->last_cgroup = e->cgroup;
	p->last_cgroup_nr = e->cgroup ? intern_str(&p->cgroups, e->cgroup) : 0;
	if (p->last_cgroup_nr > PAGE_MAX_CGROUPS)
		p->last_cgroup_nr = 0;
	return (uint16_t)p->last_cgroup_nr;
}

enum clew_err page_rows_flush(struct page_feed *p)
{
	if (!p->os_errno)
		p->os_errno = os_write_all(p->fd, p->rows, p->nr_waiting * sizeof(*p->rows));
	p->nr_waiting = 0;
	return p->os_errno ? CLEW_OS : CLEW_OK;
}

size_t page_rows_read(struct page_feed *p, uint64_t from)
{
	uint64_t left = p->nr - from;
	size_t nr = left < PAGE_BATCH ? (size_t)left : PAGE_BATCH;

	p->os_errno =
		os_read_all_at(p->fd, p->rows, nr * sizeof(*p->rows), from * sizeof(*p->rows));
	return p->os_errno ? 0 : nr;
}

enum clew_err page_rows_each(struct page_feed *p,
			     enum clew_err (*take)(void *ctx, const struct page_row *r), void *ctx)
{
	enum clew_err err = CLEW_OK;
	size_t n;

	for (uint64_t at = 0; at < p->nr && err == CLEW_OK; at += n) {
		n = page_rows_read(p, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n && err == CLEW_OK; i++)
			err = take(ctx, &p->rows[i]);
	}
	return err;
}

static void note_range(struct page_feed *p, const struct page_row *r, bool is_first)
{
	if (is_first)
		p->same = *r;
	p->differs_cpu |= r->cpu != p->same.cpu;
	p->differs_cgroup |= r->cgroup != p->same.cgroup;
	p->differs_event |= r->event != p->same.event;
	p->differs_thread |= r->thread != p->same.thread;
	if (r->cpu == PAGE_NONE)
		p->nr_without_cpu++;
	else if (r->cpu > p->max_cpu)
		p->max_cpu = r->cpu;
	if (r->weight > p->max_weight)
		p->max_weight = r->weight;
	if (r->weight < p->min_weight)
		p->min_weight = r->weight;
	if (r->nr > p->max_nr)
		p->max_nr = r->nr;
}

/* In the order of rows: the same, whether they are measured once or again. */
static void note_gap(struct page_feed *p, uint64_t ns)
{
	if (ns >= PAGE_WIDE)
		p->nr_wide++;
	else if (ns > p->max_dt)
		p->max_dt = ns;
}

struct measuring {
	struct page_feed *page;
	uint64_t last; /* time */
	bool has_first;
};

static enum clew_err measure(void *ctx, const struct page_row *r)
{
	struct measuring *m = ctx;

	note_range(m->page, r, !m->has_first);
	m->has_first = true;
	if (r->time <= m->last)
		return CLEW_OK; /* what has no time is before the first, at 0 */
	note_gap(m->page, r->time - m->last);
	m->last = r->time;
	return CLEW_OK;
}

enum clew_err page_rows_measure(struct page_feed *p)
{
	struct measuring m = {.page = p, .last = p->first};

	p->differs_cpu = p->differs_cgroup = p->differs_event = p->differs_thread = false;
	p->max_weight = p->nr_without_cpu = p->max_cpu = p->max_nr = 0;
	p->min_weight = UINT64_MAX;
	p->nr_wide = p->max_dt = 0;
	return page_rows_each(p, measure, &m);
}

enum clew_err page_feed_sample(void *page, const struct ana_event *e, uint32_t node)
{
	struct page_feed *p = page;
	struct page_row r = {
		.time = p->last, .weight = e->period, .node = node, .cpu = e->cpu, .nr = 1};

	r.thread = thread_of(p, e);
	if (r.thread == PAGE_NONE)
		return CLEW_NO_MEMORY;
	r.cgroup = cgroup_of(p, e);
	r.event = (uint8_t)(e->evsel->index < PAGE_MAX_EVENTS ? e->evsel->index : PAGE_MAX_EVENTS);
	r.is_timeless = !clew_perf_ns_is_known(e->time);
	r.ends_trace = e->synth && e->synth->flow & ANA_FLOW_TRACE_END;
	if (!r.is_timeless && p->nr == p->nr_timeless) {
		p->first = p->last = r.time = e->time.ns;
	} else if (!r.is_timeless && e->time.ns > p->last) {
		note_gap(p, e->time.ns - p->last);
		p->last = r.time = e->time.ns;
	}
	note_range(p, &r, p->nr == 0);
	p->is_traced[r.event] |= e->synth && !e->op; /* SPE samples operations */
	p->sum_of[r.event] += r.weight;
	p->nr_of[r.event]++;
	p->nr_timeless += r.is_timeless;
	p->nr_samples++;
	p->nr++;
	p->rows[p->nr_waiting++] = r;
	return p->nr_waiting == PAGE_BATCH ? page_rows_flush(p) : CLEW_OK;
}

static enum clew_err add_record(struct page_feed *p, const struct ana_event *e,
				struct page_record *r)
{
	if (p->records.nr == PAGE_MAX_RECORDS) {
		p->nr_more_records++;
		return CLEW_OK;
	}
	r->time = e->time.ns;
	r->cpu = e->cpu;
	r->who = (uint64_t)e->pid << 32 | e->tid;
	return vec_push(&p->records, *r) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_record(struct page_feed *p, const struct ana_event *e)
{
	struct page_record r = {0};
	struct perf_comm comm;
	struct perf_lost lost;
	struct perf_aux aux;

	switch (e->record.type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		r.kind = PAGE_LOST;
		if (perf_lost_parse(&e->record, &lost) != CLEW_OK || !lost.lost ||
		    lost.is_bpf_filtered)
			return CLEW_OK;
		r.number = lost.lost;
		return add_record(p, e, &r);
	case PERF_RECORD_COMM:
		r.kind = PAGE_COMM;
		if (perf_comm_parse(&e->record, &comm) != CLEW_OK)
			return CLEW_OK;
		r.text = intern_str(&p->texts, comm.comm);
		return r.text == INTERN_FAILED ? CLEW_NO_MEMORY : add_record(p, e, &r);
	case PERF_RECORD_EXIT:
		r.kind = PAGE_EXIT;
		return add_record(p, e, &r);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		r.kind = e->record.type == PERF_RECORD_THROTTLE ? PAGE_THROTTLE : PAGE_UNTHROTTLE;
		return add_record(p, e, &r);
	case PERF_RECORD_ITRACE_START:
		r.kind = PAGE_TRACE_BEGINS;
		return add_record(p, e, &r);
	case PERF_RECORD_AUX:
		r.kind = PAGE_TRACE_LOST;
		if (perf_aux_parse(&e->record, &aux) != CLEW_OK ||
		    !(aux.flags & PERF_AUX_FLAG_TRUNCATED))
			return CLEW_OK;
		return add_record(p, e, &r);
	default:
		return CLEW_OK;
	}
}

/* A place in a trace that could not be followed: what ran until it can again is unknown. */
static enum clew_err add_error(struct page_feed *p, const struct ana_event *e)
{
	const struct ana_pause pause = {e->time, e->time, e->cpu, e->tid, e->synth->error};

	return add_pause(p, &pause);
}

static enum clew_err take_timed(struct page_feed *p, const struct ana_event *e)
{
	bool is_throttle =
		e->record.type == PERF_RECORD_THROTTLE || e->record.type == PERF_RECORD_UNTHROTTLE;
	enum clew_err err = page_intervals_record(&p->intervals, e, p->nr ? p->first : 0);

	if (err == CLEW_OK && e->synth && e->synth->error)
		return add_error(p, e);
	if (err == CLEW_OK && is_throttle)
		err = ana_pauses_throttle(&p->pausing, e);
	/* What comes before the first sample is how things stood then. */
	if (err == CLEW_OK && p->nr && e->time.ns >= p->first)
		err = take_record(p, e);
	return err;
}

enum clew_err page_feed_batch(struct page_feed *p, const struct ana_batch *b)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		const struct ana_event *e = &b->events[i];

		if (!e->sample && clew_perf_ns_is_known(e->time))
			err = take_timed(p, e);
	}
	return err;
}
