/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/export.h"

#include "base/err.h"
#include "export/export_impl.h"

enum {
	FLUSH_BYTES = 64 << 10,
	DEFAULT_SUMS = 1 << 18, /* then they are written, and the table is emptied */
};

enum clew_err export_new(struct export **ret, const struct export_opts *opts,
			 const struct clew_sink *sink, struct clew_diag *diag)
{
	struct export *x = mem_zalloc(sizeof(*x));
	enum clew_err err = CLEW_NO_MEMORY;

	if (x) {
		x->opts = *opts;
		x->format = opts->format;
		x->sink = sink;
		x->first_event = EXPORT_NONE;
		x->pauses = (struct ana_pauses){.take = export_take_pause, .ctx = x};
		x->key_parts = opts->keys | opts->format->keys;
		x->opts.max_sums = opts->max_sums ? opts->max_sums : DEFAULT_SUMS;
		x->state = mem_zalloc(opts->format->state_bytes + 1);
		if (x->state && export_tables_init(&x->tables, opts->max_frames,
						   opts->max_text_bytes, opts->no_inline))
			err = export_stacks_init(x);
	}
	if (err != CLEW_OK) {
		export_free(x);
		return clew_fail(diag, err, 0, "out of memory");
	}
	*ret = x;
	return CLEW_OK;
}

void export_free(struct export *x)
{
	if (!x)
		return;
	if (x->has_begun && x->format->done)
		x->format->done(x);
	vec_for_each (&x->sums, w)
		report_weights_done(w);
	vec_done(&x->sums);
	export_tables_done(&x->tables);
	report_tree_done(&x->tree);
	buf_done(&x->out);
	vec_done(&x->events);
	map_u64_done(&x->event_of);
	vec_done(&x->threads);
	map_u64_done(&x->thread_of);
	map_u64_done(&x->pid_ns_of);
	ana_pauses_done(&x->pauses);
	map_u64_done(&x->inner_of);
	perf_who_facts_done(&x->ids);
	intern_done(&x->key_tuples);
	vec_done(&x->keys);
	vec_done(&x->chains);
	for (size_t i = 0; i < EXPORT_PATHS; i++)
		vec_done(&x->last_paths[i].steps);
	vec_done(&x->place_of_loc);
	vec_done(&x->stack);
	mem_free(x->state);
	mem_free(x);
}

/* --- events --- */

/* Formats with one weight take the first event that has samples. */
static bool is_omitted(struct export *x, const char *name)
{
	if (x->opts.event)
		return strcmp(x->opts.event, name) != 0;
	if (!x->format->has_one_event || x->first_event == x->events.nr)
		return false;
	if (x->first_event != EXPORT_NONE)
		return true;
	x->first_event = (uint32_t)x->events.nr;
	return false;
}

static struct export_event *event_of(struct export *x, const struct perf_evsel *evsel,
				     uint32_t *ret)
{
	struct export_event e = {.evsel = evsel};
	size_t n;

	if (!map_u64_number(&x->event_of, evsel->index, x->events.nr, EXPORT_NONE, &n))
		return NULL;
	*ret = (uint32_t)n;
	if (n < x->events.nr)
		return &x->events.data[n];
	e.name = export_text_add(&x->tables, evsel->name);
	e.is_omitted = is_omitted(x, evsel->name);
	if (e.name == EXPORT_NONE || !vec_push(&x->events, e) ||
	    !vec_push(&x->sums, (struct report_weights){0}))
		return NULL;
	return &x->events.data[n];
}

/* --- samples --- */

static enum clew_err emit(struct export *x, uint32_t event, const struct report_weight *w)
{
	const struct export_sample s = {
		.event = event, .key = w->key, .node = w->node, .nr = w->nr, .period = w->period};
	enum clew_err err = x->format->sample(x, &s);

	return err ? err : export_flush(x);
}

/* More events may come later: columns that are written already need room for theirs. */
static enum clew_err name_all_events(struct export *x)
{
	const struct perf_evlist *l = x->opts.events;
	uint32_t column;

	for (size_t i = 0; l && i < l->evsels.nr; i++) {
		const struct perf_evsel *e = l->evsels.data[i];

		if (e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_DUMMY)
			continue;
		if (!event_of(x, e, &column))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

/* Write the sums, and empty their tables. */
static enum clew_err write_sums(struct export *x)
{
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < x->sums.nr; i++) {
		struct report_weights *sums = &x->sums.data[i];

		report_weights_sort(sums);
		vec_for_each (&sums->all, w)
			err = err ? err : emit(x, i, w);
		report_weights_done(sums);
		*sums = (struct report_weights){0};
	}
	x->nr_sums = 0;
	budget_account_give(&x->tree.account, x->sum_bytes);
	x->sum_bytes = 0;
	return err;
}

static enum clew_err make_room(struct export *x)
{
	enum clew_err err = name_all_events(x);

	return err ? err : write_sums(x);
}

static enum clew_err try_sum(struct export *x, const struct export_sample *s)
{
	struct report_weights *sums = &x->sums.data[s->event];
	uint64_t charged = x->tree.account.charged;
	size_t before = sums->all.nr;
	enum clew_err err = report_weights_add(sums, &x->tree, s->key, s->node, s->nr, s->period);

	x->nr_sums += sums->all.nr - before;
	x->sum_bytes += x->tree.account.charged - charged;
	return err;
}

static enum clew_err add_sum(struct export *x, const struct export_sample *s)
{
	enum clew_err err = x->nr_sums >= x->opts.max_sums ? make_room(x) : CLEW_OK;

	if (err == CLEW_OK)
		err = try_sum(x, s);
	if (err != CLEW_LIMIT)
		return err;
	err = make_room(x);
	if (err == CLEW_OK)
		err = try_sum(x, s);
	/* The budget is used up by others. */
	return err == CLEW_LIMIT ? x->format->sample(x, s) : err;
}

static void count(struct export *x, const struct ana_event *e, const struct export_sample *s,
		  bool is_cut)
{
	const struct ana_loc *loc = export_innermost(e);
	uint64_t *binary =
		loc && loc->dso ? map_u64_get(&x->tables.by_dso, (uintptr_t)loc->dso) : NULL;

	if (binary)
		x->tables.binaries.data[*binary].nr += s->nr;
	if (!x->summary.nr_samples)
		x->first_time = e->time;
	x->last_time = e->time;
	x->summary.nr_samples += s->nr;
	x->summary.period += s->period;
	x->summary.nr_cut += is_cut ? s->nr : 0;
}

/* @p why: its stack is cut; NULL: it is not. */
static enum clew_err write_sample(struct export *x, const struct ana_event *e,
				  struct export_sample *s, const char *why)
{
	uint32_t cut = export_text_of(&x->tables, why);
	enum clew_err err = cut == EXPORT_NONE ? CLEW_NO_MEMORY : export_key(x, e, cut, &s->key);

	if (err == CLEW_OK)
		err = export_node(x, e, why, &s->node);
	if (err != CLEW_OK)
		return err;
	return x->format->has_sums ? add_sum(x, s) : x->format->sample(x, s);
}

static enum clew_err take_sample(struct export *x, const struct ana_event *e)
{
	struct export_sample s = {.time = e->time, .ip = e->sample->ip, .nr = 1 + e->nr_more};
	struct export_event *ev = event_of(x, e->evsel, &s.event);
	const char *why = export_why_cut(e);
	enum clew_err err;

	s.period = e->period * s.nr;
	if (!ev)
		return CLEW_NO_MEMORY;
	ev->nr += s.nr;
	ev->period += s.period;
	if (ev->is_omitted) {
		x->summary.nr_omitted += s.nr;
		return CLEW_OK;
	}
	err = x->format->event ? x->format->event(x, e) : write_sample(x, e, &s, why);
	if (err == CLEW_OK)
		count(x, e, &s, why != NULL);
	return err;
}

/* --- other records --- */

static enum clew_err take_lost(struct export *x, const struct ana_event *e)
{
	struct export_lost l = {.time = e->time, .cpu = e->cpu};
	struct perf_lost lost;

	/* Without a time it is a total of what others report when it happened. */
	if (!e->time.ns || !clew_perf_ns_is_known(e->time) ||
	    perf_lost_parse(&e->record, &lost) != CLEW_OK || lost.is_bpf_filtered)
		return CLEW_OK;
	l.nr = lost.lost;
	return x->format->lost ? x->format->lost(x, &l) : CLEW_OK;
}

static enum clew_err take_record(struct export *x, const struct ana_event *e)
{
	switch (e->record.type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return take_lost(x, e);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return export_take_switch(x, e);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return ana_pauses_throttle(&x->pauses, e);
	case PERF_RECORD_NAMESPACES:
		return export_take_namespaces(x, &e->record);
	case PERF_RECORD_HEADER_EVENT_TYPE:
		return export_take_ids(x, &e->record);
	default:
		return export_take_record(&x->tables, &e->record);
	}
}

static enum clew_err take(struct export *x, const struct ana_event *e)
{
	enum clew_err err;

	if (e->sample)
		return e->evsel && !e->repeat ? take_sample(x, e) : CLEW_OK;
	if (e->synth || !e->record.data)
		return CLEW_OK;
	err = take_record(x, e);
	return err == CLEW_OK && x->format->event ? x->format->event(x, e) : err;
}

static enum clew_err begin(struct export *x)
{
	if (x->has_begun)
		return CLEW_OK;
	x->has_begun = true;
	return x->format->begin ? x->format->begin(x) : CLEW_OK;
}

/* Records that are no samples all are. */
static bool is_picked(struct export *x, const struct ana_batch *b, const struct ana_event *e)
{
	if (!x->opts.picks || x->opts.picks(x->opts.picks_ctx, b, e) || !e->sample)
		return true;
	x->summary.nr_unpicked += 1 + e->nr_more;
	return false;
}

enum clew_err export_batch(void *ctx, const struct ana_batch *b)
{
	struct export *x = ctx;
	enum clew_err err = begin(x);

	if (!x->has_epoch || x->epoch != b->epoch)
		export_stacks_forget(x);
	x->has_epoch = true;
	x->epoch = b->epoch;
	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		if (is_picked(x, b, &b->events[i]))
			err = take(x, &b->events[i]);
	}
	return err ? err : export_flush(x);
}

enum clew_err export_finish(struct export *x, const struct ana_summary *s)
{
	enum clew_err err = begin(x);

	x->run = s;
	export_set_ranges(&x->tables);
	if (err == CLEW_OK)
		err = ana_pauses_end(&x->pauses, s, x->first_time, x->last_time);
	if (err == CLEW_OK)
		err = write_sums(x);
	if (err == CLEW_OK)
		err = x->format->end(x);
	if (err == CLEW_OK)
		err = x->out.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
	if (err == CLEW_OK && x->out.nr)
		err = x->sink->write(x->sink->ctx, x->out.data, x->out.nr);
	x->run = NULL;
	buf_clear(&x->out);
	return err;
}

/* --- for formats --- */

enum clew_err export_flush(struct export *x)
{
	enum clew_err err = x->out.is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	if (err || x->out.nr < FLUSH_BYTES)
		return err;
	err = x->sink->write(x->sink->ctx, x->out.data, x->out.nr);
	buf_clear(&x->out);
	return err;
}

const struct export_summary *export_summary(const struct export *x)
{
	return &x->summary;
}

const char *export_why(struct export *x)
{
	return x->has_begun && x->format->why ? x->format->why(x) : NULL;
}

const struct export_opts *export_opts(const struct export *x)
{
	return &x->opts;
}

void export_count_cut(struct export *x)
{
	x->summary.nr_cut++;
}

void export_count_overlap(struct export *x, uint64_t ns)
{
	x->summary.overlap_ns += ns;
}

void export_count_clipped(struct export *x)
{
	x->summary.nr_clipped++;
}

void *export_state(struct export *x)
{
	return x->state;
}

const struct clew_sink *export_sink(const struct export *x)
{
	return x->sink;
}

struct buf *export_out(struct export *x)
{
	return &x->out;
}

const struct ana_summary *export_of_run(const struct export *x)
{
	return x->run;
}

const struct export_tables *export_tables(const struct export *x)
{
	return &x->tables;
}

struct export_tables *export_tables_mut(struct export *x)
{
	return &x->tables;
}

size_t export_nr_events(const struct export *x)
{
	return x->events.nr;
}

const struct export_event *export_event_at(const struct export *x, size_t i)
{
	return &x->events.data[i];
}

const struct export_key *export_key_at(const struct export *x, uint32_t key)
{
	return &x->keys.data[key];
}

size_t export_nr_threads(const struct export *x)
{
	return x->threads.nr;
}

const struct export_thread *export_thread_at(const struct export *x, uint32_t thread)
{
	static const struct export_thread unknown = {UINT32_MAX, UINT32_MAX, 0, 0, 0};

	return thread == EXPORT_NONE ? &unknown : &x->threads.data[thread];
}

struct clew_perf_ns export_first_time(const struct export *x)
{
	return x->first_time;
}

struct clew_perf_ns export_last_time(const struct export *x)
{
	return x->last_time;
}
