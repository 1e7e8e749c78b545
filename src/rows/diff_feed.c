/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/diff_feed.h"

#include "rows/report_feed_impl.h"

void diff_feed_init(struct diff_feed *d, const struct diff_feed_opts *opts, uint32_t nr_inputs)
{
	*d = (struct diff_feed){.opts = *opts, .nr_inputs = nr_inputs};
}

static void table_free(struct diff_table *t)
{
	for (size_t i = 0; i < REPORT_DIFF_MAX; i++) {
		mem_free(t->events[i].name);
		mem_free(t->events[i].unit);
	}
	report_diff_done(&t->diff);
	mem_free(t);
}

void diff_feed_done(struct diff_feed *d)
{
	vec_for_each (&d->tables, t)
		table_free(*t);
	vec_done(&d->tables);
	report_diff_files_done(&d->files);
}

static struct diff_table *add_table(struct diff_feed *d)
{
	struct diff_table *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->diff.nr_inputs = d->nr_inputs;
	t->diff.account.budget = d->opts.budget;
	if (vec_push(&d->tables, t))
		return t;
	mem_free(t);
	return NULL;
}

/* --- Events. --- */

static const char *unit_of(const struct perf_evsel *e)
{
	return perf_attr_is_clock(&e->attr) ? "ns" : e->unit && *e->unit ? e->unit : NULL;
}

static struct diff_table *table_named(struct diff_feed *d, uint32_t input, const char *name)
{
	vec_for_each (&d->tables, t) {
		if ((*t)->events[input].name)
			continue;
		for (uint32_t i = 0; i < input; i++) {
			if ((*t)->events[i].name && !strcmp((*t)->events[i].name, name))
				return *t;
		}
	}
	return NULL;
}

/* With --force: the first event that has no partner. */
static struct diff_table *table_alone(struct diff_feed *d, uint32_t input)
{
	vec_for_each (&d->tables, t) {
		if (!(*t)->events[input].name && diff_table_has_samples(d, *t))
			return *t;
	}
	return NULL;
}

static bool set_event(struct diff_table *t, uint32_t input, const struct perf_evsel *e,
		      const struct report_event *ev)
{
	struct diff_event *x = &t->events[input];
	const char *unit = unit_of(e);

	x->name = mem_strdup(e->name);
	x->unit = unit ? mem_strdup(unit) : NULL;
	if (ev) {
		x->all = (struct report_diff_count){ev->period, ev->nr};
		x->kept = (struct report_diff_count){ev->period_kept, ev->nr_kept};
	}
	return x->name && (x->unit || !unit);
}

static const struct report_event *samples_of(const struct report_feed *f,
					     const struct perf_evsel *e)
{
	for (size_t i = 0; i < report_feed_nr_events(f); i++) {
		if (report_feed_event(f, i)->evsel == e)
			return report_feed_event(f, i);
	}
	return NULL;
}

/* --- Rows. --- */

struct taking {
	struct diff_feed *d;
	struct report_feed *f;
	uint32_t input;
	struct buf name, text;
};

static const char *file_of(struct taking *t, uint32_t frame)
{
	if (t->d->opts.is_exact)
		return feed_dso_name(t->f->frames.all.data[frame].dso);
	return report_feed_pair_file(t->f, frame, &t->d->files);
}

static void add_function(struct taking *t, const struct report_row *row, uint32_t frame)
{
	struct report_frame_text x = report_feed_frame(t->f, frame);

	if (t->d->opts.is_exact) {
		report_feed_row_text(t->f, row, REPORT_SYM, &t->name);
		return;
	}
	buf_char(&t->name, '[');
	buf_char(&t->name, x.level);
	buf_str(&t->name, "] ");
	report_feed_pair_function(t->f, frame, &t->name);
}

static bool add_file(struct taking *t, uint32_t frame)
{
	const char *file = file_of(t, frame);

	if (file)
		buf_str(&t->name, file);
	return file;
}

/* Functions of different files are different rows, whether the file is shown or not. */
static bool make_name(struct taking *t, const struct report_row *row)
{
	const struct report_sort *sort = &t->d->opts.sort;
	uint32_t frame = report_feed_row_frame(t->f, row);

	buf_clear(&t->name);
	for (size_t i = 0; i < sort->nr; i++) {
		if (sort->keys[i] == REPORT_SYM)
			add_function(t, row, frame);
		else if (sort->keys[i] != REPORT_DSO)
			report_feed_row_text(t->f, row, sort->keys[i], &t->name);
		else if (!add_file(t, frame))
			return false;
		buf_char(&t->name, '\0');
	}
	if (report_sort_has(sort, REPORT_SYM) && !report_sort_has(sort, REPORT_DSO) &&
	    !add_file(t, frame))
		return false;
	return !t->name.is_failed;
}

static bool is_ref(struct taking *t, const struct report_row *row)
{
	const struct diff_feed_opts *o = &t->d->opts;
	const char *sym = report_feed_frame(t->f, report_feed_row_frame(t->f, row)).sym;

	if (!o->ref || !sym)
		return false;
	if (!strcmp(sym, o->ref))
		return true;
	buf_clear(&t->text);
	report_diff_function(&t->text, sym);
	return !o->is_exact && !strcmp(buf_cstr(&t->text), o->ref);
}

static bool take_row(struct taking *t, struct diff_table *to, const struct report_table *from,
		     size_t i)
{
	const struct report_row *row = &from->rows.rows.data[i];
	const struct report_value *v = report_row_value(&from->rows, row, 0);
	struct report_diff_count c = {v->self, v->nr};

	if (!v->nr)
		return true;
	if (is_ref(t, row)) {
		to->events[t->input].whole.ref.period += c.period;
		to->events[t->input].whole.ref.nr += c.nr;
	}
	if (i >= from->nr_shown)
		return true;
	return make_name(t, row) &&
	       report_diff_add(&to->diff, t->input, t->name.data, t->name.nr, c);
}

static enum clew_err take_rows(struct taking *t, struct diff_table *to, size_t event)
{
	static const struct report_table_opts opts;
	struct report_table table;
	enum clew_err err = report_table_make(t->f, &event, 1, &opts, &table);

	if (err != CLEW_OK)
		return err;
	for (size_t i = 0; i < table.rows.rows.nr && err == CLEW_OK; i++)
		err = take_row(t, to, &table, i) ? CLEW_OK : CLEW_NO_MEMORY;
	report_table_done(&table);
	return err;
}

static enum clew_err take_event(struct taking *t, size_t event)
{
	const struct report_event *ev = report_feed_event(t->f, event);
	struct diff_table *to = table_named(t->d, t->input, ev->evsel->name);

	if (!to && t->d->opts.is_forced)
		to = table_alone(t->d, t->input);
	if (!to)
		to = add_table(t->d);
	if (!to || !set_event(to, t->input, ev->evsel, ev))
		return CLEW_NO_MEMORY;
	return take_rows(t, to, event);
}

/* What the header lists counts as there, with no samples. */
static enum clew_err take_empty(struct taking *t, const struct perf_evlist *evlist)
{
	for (size_t i = 0; evlist && i < evlist->evsels.nr; i++) {
		const struct perf_evsel *e = evlist->evsels.data[i];
		struct diff_table *to;

		if (samples_of(t->f, e))
			continue;
		to = table_named(t->d, t->input, e->name);
		to = to ? to : add_table(t->d);
		if (!to || !set_event(to, t->input, e, NULL))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err diff_feed_take(struct diff_feed *d, uint32_t input, struct report_feed *f,
			     const struct perf_evlist *evlist, struct clew_perf_ns first,
			     struct clew_perf_ns last)
{
	struct taking t = {.d = d, .f = f, .input = input};
	enum clew_err err = take_empty(&t, evlist);

	if (clew_perf_ns_is_known(first) && clew_perf_ns_is_known(last) && last.ns > first.ns)
		d->ns[input] = last.ns - first.ns;
	for (size_t i = 0; i < report_feed_nr_events(f) && err == CLEW_OK; i++) {
		if (report_feed_event(f, i)->evsel && report_feed_event(f, i)->nr)
			err = take_event(&t, i);
	}
	buf_done(&t.name);
	buf_done(&t.text);
	return err;
}
