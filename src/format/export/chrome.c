/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/chrome.h"

#include "base/u64.h"
#include "format/export/export_name.h"

/*
 * Chrome's JSON of nested slices of each thread, and what the other shape has in common with it.
 * Spec: Google, "Trace Event Format".
 *
 * A sample lasts as long as it stands for, and at most to the thread's next one; what neighbours
 * have in common stays open. A short gap between them is bridged with what overlaps have cut off
 * before, so that all slices together last no longer than all samples.
 */
enum {
	NS_DECIMALS = 3,       /* of a microsecond */
	MAX_BRIDGE_NS = 50000, /* timers are late by less */
	UNKNOWN_NS = 1000000,  /* what a sample lasts at most that says nothing of time */
	MIN_DISTANCE_NS = 2,   /* of samples: an end between two begins is apart from both */
};

struct chrome *chrome_begin(struct export *x)
{
	struct chrome *p = export_state(x);
	struct json_put *j = &p->json;

	j->out = export_out(x);
	json_open(j, '{');
	json_put_string(j, "displayTimeUnit", "ns");
	json_key(j, "otherData");
	json_open(j, '{');
	json_put_string(j, "exporter", "clew");
	json_close(j, '}');
	return p;
}

uint64_t chrome_since_start(struct chrome *p, struct clew_perf_ns time, uint64_t otherwise)
{
	if (time.ns == UINT64_MAX)
		return otherwise;
	if (!p->has_start)
		p->start = time.ns;
	p->has_start = true;
	return time.ns > p->start ? time.ns - p->start : 0;
}

static struct chrome_thread *thread_at(struct chrome *p, uint32_t thread)
{
	uint32_t n = thread + 1; /* EXPORT_NONE: 0 */

	while (p->threads.nr <= n) {
		if (!vec_push(&p->threads, (struct chrome_thread){0}))
			return NULL;
	}
	return &p->threads.data[n];
}

/* --- parts of events --- */

static void put_known_id(struct json_put *j, const char *key, uint32_t id)
{
	if (id != UINT32_MAX)
		json_put_u64(j, key, id);
}

void chrome_put_ts(struct json_put *j, uint64_t ns)
{
	json_key(j, "ts");
	json_fixed(j, ns, NS_DECIMALS);
}

void chrome_put_who(const struct export *x, struct json_put *j, uint32_t thread)
{
	const struct export_thread *t = export_thread_at(x, thread);

	json_put_id(j, "pid", t->pid);
	json_put_id(j, "tid", t->tid);
}

void chrome_put_function(struct export *x, struct json_put *j, uint32_t function)
{
	struct chrome *p = export_state(x);

	buf_clear(&p->name);
	export_put_function(&p->name, x, function);
	json_put_string(j, "name", buf_cstr(&p->name));
	j->out->is_failed |= p->name.is_failed;
}

/* "thread_name" or "process_name" */
static void put_name(const struct export *x, struct json_put *j, uint32_t thread, uint64_t ns,
		     const char *what)
{
	const struct export_thread *t = export_thread_at(x, thread);

	json_open(j, '{');
	json_put_string(j, "ph", "M");
	json_put_string(j, "name", what);
	chrome_put_who(x, j, thread);
	chrome_put_ts(j, ns);
	json_key(j, "args");
	json_open(j, '{');
	json_put_string(j, "name", export_text(export_tables(x), t->comm));
	if (t->inner_pid)
		json_put_u64(j, "pid_in_ns", t->inner_pid);
	json_close(j, '}');
	json_close(j, '}');
}

void chrome_put_names(const struct export *x, struct json_put *j, uint32_t thread, uint64_t ns)
{
	const struct export_thread *t = export_thread_at(x, thread);

	put_name(x, j, thread, ns, "thread_name");
	if (t->pid == t->tid)
		put_name(x, j, thread, ns, "process_name");
}

void chrome_put_lost(struct json_put *j, const struct export_lost *l, uint64_t ns)
{
	json_open(j, '{');
	json_put_string(j, "ph", "I"); /* an instant */
	json_put_string(j, "s", "g");  /* of all threads */
	json_put_string(j, "name", "lost");
	json_put_u64(j, "pid", 0);
	json_put_u64(j, "tid", 0);
	chrome_put_ts(j, ns);
	json_key(j, "args");
	json_open(j, '{');
	json_put_u64(j, "records", l->nr);
	json_close(j, '}');
	json_close(j, '}');
}

void chrome_put_pause(struct chrome *c, struct json_put *j, const struct ana_pause *p)
{
	uint64_t from = chrome_since_start(c, p->from, 0), to = chrome_since_start(c, p->to, from);

	json_open(j, '{');
	json_put_string(j, "ph", "X"); /* an interval */
	json_put_string(j, "name", "paused");
	json_put_string(j, "cat", p->why);
	json_put_u64(j, "pid", 0);
	json_put_u64(j, "tid", 0);
	chrome_put_ts(j, from);
	json_key(j, "dur");
	json_fixed(j, to - from, NS_DECIMALS);
	json_key(j, "args");
	json_open(j, '{');
	json_put_string(j, "reason", p->why);
	put_known_id(j, "cpu", p->cpu);
	put_known_id(j, "tid", p->tid);
	json_close(j, '}');
	json_close(j, '}');
}

/* --- slices --- */

static enum clew_err begin_slices(struct export *x)
{
	struct chrome *p = chrome_begin(x);

	json_key(&p->json, "traceEvents");
	json_open(&p->json, '[');
	return CLEW_OK;
}

static enum clew_err name_slices(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	struct chrome *p = export_state(x);

	chrome_put_names(x, &p->json, thread, chrome_since_start(p, time, 0));
	return CLEW_OK;
}

static enum clew_err lose_slices(struct export *x, const struct export_lost *l)
{
	struct chrome *p = export_state(x);

	chrome_put_lost(&p->json, l, chrome_since_start(p, l->time, 0));
	return CLEW_OK;
}

static enum clew_err pause_slices(struct export *x, const struct ana_pause *pause)
{
	struct chrome *p = export_state(x);

	chrome_put_pause(p, &p->json, pause);
	return export_flush(x);
}

/* An end carries the name, too: some readers match by it. */
static void put_edge(struct export *x, const char *ph, uint32_t function, uint32_t thread,
		     uint64_t ns, const char *category)
{
	struct chrome *p = export_state(x);
	struct json_put *j = &p->json;

	json_open(j, '{');
	json_put_string(j, "ph", ph);
	chrome_put_function(x, j, function);
	if (category)
		json_put_string(j, "cat", category);
	chrome_put_who(x, j, thread);
	chrome_put_ts(j, ns);
	json_close(j, '}');
}

/* What is below @p keep ends, the innermost first. */
static void end_slices(struct export *x, struct chrome_thread *t, uint32_t thread, size_t keep,
		       uint64_t ns)
{
	const struct report_slice *s;

	while ((s = report_slices_end(&t->calls, keep)))
		put_edge(x, "E", export_innermost_frame(x, s->node), thread, ns, NULL);
}

static uint64_t duration_of(const struct export *x, const struct export_sample *s)
{
	const struct perf_evsel *evsel = export_event_at(x, s->event)->evsel;
	uint64_t interval = export_interval_of(evsel);

	if (export_unit_of(evsel) == EXPORT_NANOSECONDS)
		return s->period;
	return (interval ? interval : UNKNOWN_NS) * s->nr;
}

/* Does a sample at @p now follow the one before it without a gap? */
static bool follows(struct chrome_thread *t, uint64_t now)
{
	uint64_t gap = now > t->end ? now - t->end : 0;

	if (gap > t->spare || gap > MAX_BRIDGE_NS)
		return false;
	t->spare = gap ? t->spare - gap : u64_sum(t->spare, t->end - now);
	return true;
}

static enum clew_err begin_sample(struct export *x, struct chrome_thread *t, uint32_t node,
				  const struct export_key *k, const char *category)
{
	size_t nr = t->calls.open.nr;

	if (!report_slices_begin(&t->calls, export_tree(x), node, t->last))
		return CLEW_NO_MEMORY;
	for (; nr < t->calls.open.nr; nr++)
		put_edge(x, "B", export_innermost_frame(x, t->calls.open.data[nr].node), k->thread,
			 t->last, category);
	return CLEW_OK;
}

static const char *category_of(const struct export *x, const struct export_sample *s,
			       const struct export_key *k)
{
	return export_text(export_tables(x),
			   k->cgroup ? k->cgroup : export_event_at(x, s->event)->name);
}

static enum clew_err put_slices(struct export *x, const struct export_sample *s)
{
	const struct export_key *k = export_key_at(x, s->key);
	struct chrome *p = export_state(x);
	struct chrome_thread *t = thread_at(p, k->thread);
	uint64_t now, duration;

	if (!t)
		return CLEW_NO_MEMORY;
	now = chrome_since_start(p, s->time, t->end);
	if (t->nr && now < t->last + MIN_DISTANCE_NS)
		now = t->last + MIN_DISTANCE_NS;
	if (t->nr) {
		bool is_next = follows(t, now);

		end_slices(x, t, k->thread,
			   is_next ? report_slices_common(&t->calls, export_tree(x), s->node) : 0,
			   is_next ? now - 1 : t->end);
		p->shown_ns = u64_sum(p->shown_ns, (is_next ? now : t->end) - t->last);
	}
	t->nr++;
	t->last = now;
	duration = duration_of(x, s);
	t->end = u64_sum(now, duration);
	p->sampled_ns = u64_sum(p->sampled_ns, duration);
	return begin_sample(x, t, s->node, k, category_of(x, s, k));
}

static enum clew_err finish_slices(struct export *x)
{
	struct chrome *p = export_state(x);
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < p->threads.nr && err == CLEW_OK; i++) {
		struct chrome_thread *t = &p->threads.data[i];

		end_slices(x, t, i - 1, 0, t->end);
		p->shown_ns = u64_sum(p->shown_ns, t->end - t->last);
		err = export_flush(x);
	}
	if (p->sampled_ns > p->shown_ns)
		export_count_overlap(x, p->sampled_ns - p->shown_ns);
	json_close(&p->json, ']');
	json_close(&p->json, '}');
	buf_char(export_out(x), '\n');
	return err;
}

void chrome_done(struct export *x)
{
	struct chrome *p = export_state(x);

	vec_for_each (&p->threads, t)
		report_slices_done(&t->calls);
	vec_done(&p->threads);
	buf_done(&p->event);
	buf_done(&p->name);
	export_spool_done(&p->spool);
}

const struct export_format export_chrome = {
	.name = "chrome",
	.summary = "trace events, a slice per call: chrome://tracing, ui.perfetto.dev, speedscope",
	.has_one_event = true,
	.by_function = true,
	.keys = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CGROUP,
	.state_bytes = sizeof(struct chrome),
	.begin = begin_slices,
	.thread = name_slices,
	.sample = put_slices,
	.lost = lose_slices,
	.paused = pause_slices,
	.end = finish_slices,
	.done = chrome_done,
};
