/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/u64.h"
#include "export/export_spool.h"
#include "format/export/export_formats.h"
#include "format/export/export_name.h"
#include "format/json_put.h"

/*
 * Chrome's JSON, in two shapes: nested slices of each thread, and samples with a tree of stacks.
 * Spec: Google, "Trace Event Format".
 *
 * Slices: a sample lasts as long as it stands for, and at most to the thread's next one; what
 * neighbours have in common stays open. A short gap between them is bridged with what overlaps have
 * cut off before, so that all slices together last no longer than all samples.
 */
enum {
	NS_DECIMALS = 3,       /* of a microsecond */
	MAX_BRIDGE_NS = 50000, /* timers are late by less */
	UNKNOWN_NS = 1000000,  /* what a sample lasts at most that says nothing of time */
	MIN_DISTANCE_NS = 2,   /* of samples: an end between two begins is apart from both */
	EVENTS = 0,            /* series of the spool */
};

struct thread {
	struct {
		VEC(uint32_t);
	} open;                 /* functions, outermost first */
	uint64_t last, end, nr; /* the last sample's; from the start */
	uint64_t spare;         /* nanoseconds that overlaps have cut off */
};

struct chrome {
	struct json_put json;
	struct {
		VEC(struct thread);
	} threads; /* by thread + 1; 0: the unknown one */
	uint64_t start;
	bool has_start;
	struct buf name; /* of the function at hand */

	/* Samples: their events come after them. */
	struct json_put events;
	struct buf event;
	struct export_spool spool;
};

static struct chrome *begin_document(struct export *x)
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

/* Since the first record; @p otherwise: of what has no time. */
static uint64_t since_start(struct chrome *p, struct clew_perf_ns time, uint64_t otherwise)
{
	if (time.ns == UINT64_MAX)
		return otherwise;
	if (!p->has_start)
		p->start = time.ns;
	p->has_start = true;
	return time.ns > p->start ? time.ns - p->start : 0;
}

static struct thread *thread_at(struct chrome *p, uint32_t thread)
{
	uint32_t n = thread + 1; /* EXPORT_NONE: 0 */

	while (p->threads.nr <= n) {
		if (!vec_push(&p->threads, (struct thread){0}))
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

static void put_ts(struct json_put *j, uint64_t ns)
{
	json_key(j, "ts");
	json_fixed(j, ns, NS_DECIMALS);
}

static void put_who(const struct export *x, struct json_put *j, uint32_t thread)
{
	const struct export_thread *t = export_thread_at(x, thread);

	json_put_id(j, "pid", t->pid);
	json_put_id(j, "tid", t->tid);
}

static void put_function(struct export *x, struct json_put *j, uint32_t function)
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
	put_who(x, j, thread);
	put_ts(j, ns);
	json_key(j, "args");
	json_open(j, '{');
	json_put_string(j, "name", export_text(export_tables(x), t->comm));
	if (t->inner_pid)
		json_put_u64(j, "pid_in_ns", t->inner_pid);
	json_close(j, '}');
	json_close(j, '}');
}

static void put_names(const struct export *x, struct json_put *j, uint32_t thread, uint64_t ns)
{
	const struct export_thread *t = export_thread_at(x, thread);

	put_name(x, j, thread, ns, "thread_name");
	if (t->pid == t->tid)
		put_name(x, j, thread, ns, "process_name");
}

static void put_lost(struct json_put *j, const struct export_lost *l, uint64_t ns)
{
	json_open(j, '{');
	json_put_string(j, "ph", "I"); /* an instant */
	json_put_string(j, "s", "g");  /* of all threads */
	json_put_string(j, "name", "lost");
	json_put_u64(j, "pid", 0);
	json_put_u64(j, "tid", 0);
	put_ts(j, ns);
	json_key(j, "args");
	json_open(j, '{');
	json_put_u64(j, "records", l->nr);
	json_close(j, '}');
	json_close(j, '}');
}

/* An interval; @p from and @p to: since the start. */
static void put_pause(struct json_put *j, const struct export_pause *p, uint64_t from, uint64_t to)
{
	json_open(j, '{');
	json_put_string(j, "ph", "X");
	json_put_string(j, "name", "paused");
	json_put_string(j, "cat", p->why);
	json_put_u64(j, "pid", 0);
	json_put_u64(j, "tid", 0);
	put_ts(j, from);
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

static void put_pause_since(struct chrome *p, struct json_put *j, const struct export_pause *pause)
{
	uint64_t from = since_start(p, pause->from, 0);

	put_pause(j, pause, from, since_start(p, pause->to, from));
}

/* --- slices --- */

static enum clew_err begin_slices(struct export *x)
{
	struct chrome *p = begin_document(x);

	json_key(&p->json, "traceEvents");
	json_open(&p->json, '[');
	return CLEW_OK;
}

static enum clew_err name_slices(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	struct chrome *p = export_state(x);

	put_names(x, &p->json, thread, since_start(p, time, 0));
	return CLEW_OK;
}

static enum clew_err lose_slices(struct export *x, const struct export_lost *l)
{
	struct chrome *p = export_state(x);

	put_lost(&p->json, l, since_start(p, l->time, 0));
	return CLEW_OK;
}

static enum clew_err pause_slices(struct export *x, const struct export_pause *pause)
{
	struct chrome *p = export_state(x);

	put_pause_since(p, &p->json, pause);
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
	put_function(x, j, function);
	if (category)
		json_put_string(j, "cat", category);
	put_who(x, j, thread);
	put_ts(j, ns);
	json_close(j, '}');
}

/* What is below @p keep ends, the innermost first. */
static void end_slices(struct export *x, struct thread *t, uint32_t thread, size_t keep,
		       uint64_t ns)
{
	while (t->open.nr > keep)
		put_edge(x, "E", t->open.data[--t->open.nr], thread, ns, NULL);
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
static bool follows(struct thread *t, uint64_t now)
{
	uint64_t gap = now > t->end ? now - t->end : 0;

	if (gap > t->spare || gap > MAX_BRIDGE_NS)
		return false;
	t->spare = gap ? t->spare - gap : u64_sum(t->spare, t->end - now);
	return true;
}

static size_t common(const struct thread *t, const struct export_stack *stack)
{
	size_t n = 0;

	while (n < t->open.nr && n < stack->nr && t->open.data[n] == stack->at[stack->nr - 1 - n])
		n++;
	return n;
}

static enum clew_err begin_sample(struct export *x, struct thread *t, const struct export_stack *s,
				  const struct export_key *k, const char *category)
{
	while (t->open.nr < s->nr) {
		uint32_t function = s->at[s->nr - 1 - t->open.nr];

		if (!vec_push(&t->open, function))
			return CLEW_NO_MEMORY;
		put_edge(x, "B", function, k->thread, t->last, category);
	}
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
	struct thread *t = thread_at(p, k->thread);
	struct export_stack stack;
	uint64_t now;

	if (!t || !export_stack(x, s->node, &stack))
		return CLEW_NO_MEMORY;
	now = since_start(p, s->time, t->end);
	if (t->nr && now < t->last + MIN_DISTANCE_NS)
		now = t->last + MIN_DISTANCE_NS;
	if (t->nr) {
		bool is_next = follows(t, now);

		end_slices(x, t, k->thread, is_next ? common(t, &stack) : 0,
			   is_next ? now - 1 : t->end);
	}
	t->nr++;
	t->last = now;
	t->end = u64_sum(now, duration_of(x, s));
	return begin_sample(x, t, &stack, k, category_of(x, s, k));
}

static enum clew_err finish_slices(struct export *x)
{
	struct chrome *p = export_state(x);
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < p->threads.nr && err == CLEW_OK; i++) {
		struct thread *t = &p->threads.data[i];

		end_slices(x, t, i - 1, 0, t->end);
		err = export_flush(x);
	}
	json_close(&p->json, ']');
	json_close(&p->json, '}');
	buf_char(export_out(x), '\n');
	return err;
}

/* --- samples --- */

static enum clew_err begin_samples(struct export *x)
{
	struct chrome *p = begin_document(x);

	p->events.out = &p->event;
	json_key(&p->json, "samples");
	json_open(&p->json, '[');
	return CLEW_OK;
}

static enum clew_err spool_event(struct chrome *p)
{
	enum clew_err err = p->event.is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	err = err ? err : export_spool_add(&p->spool, EVENTS, p->event.data, p->event.nr);
	buf_clear(&p->event);
	return err;
}

static enum clew_err name_samples(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	struct chrome *p = export_state(x);

	put_names(x, &p->events, thread, since_start(p, time, 0));
	return spool_event(p);
}

static enum clew_err lose_samples(struct export *x, const struct export_lost *l)
{
	struct chrome *p = export_state(x);

	put_lost(&p->events, l, since_start(p, l->time, 0));
	return spool_event(p);
}

static enum clew_err pause_samples(struct export *x, const struct export_pause *pause)
{
	struct chrome *p = export_state(x);

	put_pause_since(p, &p->events, pause);
	return spool_event(p);
}

/* The name of a stack is a text. */
static const char *node_name(uint32_t node, char room[DEC_DIGITS + 1])
{
	unsigned int nr = dec_digits(room, node);

	room[DEC_DIGITS] = '\0';
	return room + DEC_DIGITS - nr;
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	const struct export_key *k = export_key_at(x, s->key);
	struct chrome *p = export_state(x);
	struct json_put *j = &p->json;
	char room[DEC_DIGITS + 1];

	json_open(j, '{');
	json_put_id(j, "cpu", k->cpu);
	put_who(x, j, k->thread);
	put_ts(j, since_start(p, s->time, 0));
	json_put_string(j, "name",
			export_text(export_tables(x), export_event_at(x, s->event)->name));
	if (k->cgroup)
		json_put_string(j, "cat", export_text(export_tables(x), k->cgroup));
	json_put_string(j, "sf", node_name(s->node, room));
	json_put_u64(j, "weight", export_weight(export_opts(x), s));
	json_close(j, '}');
	return CLEW_OK;
}

static void put_frame(struct export *x, uint32_t node)
{
	const struct export_tables *t = export_tables(x);
	uint32_t function = export_innermost_frame(x, node), callers = export_callers(x, node);
	uint32_t binary = t->functions.data[function].binary;
	struct chrome *p = export_state(x);
	struct json_put *j = &p->json;
	char room[DEC_DIGITS + 1];

	json_key(j, node_name(node, room));
	json_open(j, '{');
	put_function(x, j, function);
	if (binary != EXPORT_NONE)
		json_put_string(j, "category", export_path_of(x, binary));
	if (callers)
		json_put_string(j, "parent", node_name(callers, room));
	json_close(j, '}');
}

static enum clew_err copy_events(void *ctx, const void *data, size_t size)
{
	struct export *x = ctx;

	buf_add(export_out(x), data, size);
	return export_flush(x);
}

static enum clew_err finish_samples(struct export *x)
{
	struct chrome *p = export_state(x);
	enum clew_err err = CLEW_OK;

	json_close(&p->json, ']');
	json_key(&p->json, "stackFrames");
	json_open(&p->json, '{');
	for (uint32_t i = 1; i <= export_nr_nodes(x) && err == CLEW_OK; i++) {
		put_frame(x, i);
		err = export_flush(x);
	}
	json_close(&p->json, '}');
	json_key(&p->json, "traceEvents");
	json_open(&p->json, '[');
	if (err == CLEW_OK)
		err = export_spool_read(&p->spool, EVENTS, copy_events, x);
	json_close(&p->json, ']');
	json_close(&p->json, '}');
	buf_char(export_out(x), '\n');
	return err;
}

static void done(struct export *x)
{
	struct chrome *p = export_state(x);

	vec_for_each (&p->threads, t)
		vec_done(&t->open);
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
	.done = done,
};

const struct export_format export_chrome_samples = {
	.name = "chrome-samples",
	.summary = "the same JSON with samples and a tree of stacks, for what sums them up",
	.by_function = true,
	.keys = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CPU | EXPORT_BY_CGROUP,
	.state_bytes = sizeof(struct chrome),
	.begin = begin_samples,
	.thread = name_samples,
	.sample = put_sample,
	.lost = lose_samples,
	.paused = pause_samples,
	.end = finish_samples,
	.done = done,
};
