/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/diff_json.h"

#include <stdlib.h>

#include "format/json_put.h"
#include "format/sink_flush.h"

enum { VERSION = 1, FLUSH_BYTES = 64 << 10, SYM_AT = 4 /* after "[k] " */ };

struct diff_writer {
	const struct diff_feed *feed;
	const struct diff_input *inputs;
	const struct clew_sink *sink;
	struct json_put *j;
};

const char *diff_norm_name(enum report_diff_norm n)
{
	static const char *const names[] = {
		[REPORT_DIFF_SHARE] = "share", [REPORT_DIFF_TIME] = "time",
		[REPORT_DIFF_CPU] = "cpu",     [REPORT_DIFF_REF] = "ref",
		[REPORT_DIFF_NONE] = "none",
	};

	return names[n];
}

static void put_inputs(const struct diff_writer *d)
{
	json_key(d->j, "inputs");
	json_open(d->j, '[');
	for (uint32_t i = 0; i < d->feed->nr_inputs; i++) {
		json_open(d->j, '{');
		json_put_string(d->j, "path", d->inputs[i].path);
		json_put_u64(d->j, "lost", d->inputs[i].nr_lost);
		if (d->feed->ns[i])
			json_put_u64(d->j, "ns", d->feed->ns[i]);
		json_close(d->j, '}');
	}
	json_close(d->j, ']');
}

static void put_sort(const struct diff_writer *d)
{
	const struct report_sort *sort = &d->feed->opts.sort;

	json_key(d->j, "sort");
	json_open(d->j, '[');
	for (size_t i = 0; i < sort->nr; i++)
		json_string(d->j, report_key_name(sort->keys[i]));
	json_close(d->j, ']');
}

static void put_event(struct json_put *j, const struct diff_event *e)
{
	json_open(j, '{');
	json_put_string(j, "event", e->name);
	json_put_string(j, "unit", e->unit);
	json_put_u64(j, "samples", e->all.nr);
	json_put_u64(j, "period", e->all.period);
	json_put_u64(j, "kept_samples", e->kept.nr);
	json_put_u64(j, "kept_period", e->kept.period);
	json_put_double(j, "value", e->value);
	json_close(j, '}');
}

static bool is_number(enum report_key k)
{
	return k == REPORT_PID || k == REPORT_TID || k == REPORT_CPU || k == REPORT_CGROUP_ID ||
	       k == REPORT_WEIGHT;
}

/* "[k] name", as tables show it. */
static void put_function(struct json_put *j, const char *text)
{
	char level[2] = {text[1], '\0'};

	json_put_string(j, "sym", text + SYM_AT);
	json_put_string(j, "level", level);
}

static void put_key(struct json_put *j, enum report_key k, const char *text)
{
	char *end;
	unsigned long long v;

	if (k == REPORT_SYM) {
		put_function(j, text);
		return;
	}
	if (!is_number(k)) {
		json_put_string(j, report_key_name(k), text);
		return;
	}
	text += strspn(text, " ");
	v = strtoull(text, &end, 10);
	if (end == text || *text == '-')
		json_put_string(j, report_key_name(k), NULL);
	else
		json_put_u64(j, report_key_name(k), v);
}

static void put_state(struct json_put *j, const struct report_diff_cell *c)
{
	static const char *const names[] = {
		[REPORT_DIFF_IN_NONE] = "none",
		[REPORT_DIFF_IN_BOTH] = "both",
		[REPORT_DIFF_NEW] = "new",
		[REPORT_DIFF_GONE] = "gone",
	};

	json_put_string(j, "state", names[c->state]);
	json_put_double(j, "delta", c->delta);
	json_put_double(j, "error", c->delta_error);
	json_put_bool(j, "significant", c->is_significant);
	if (c->state == REPORT_DIFF_IN_BOTH)
		json_put_double(j, "ratio", c->ratio);
	else
		json_put_string(j, "ratio", NULL);
}

static void put_cell(const struct diff_writer *d, const struct report_diff_cell *c, bool is_first)
{
	json_open(d->j, '{');
	json_put_u64(d->j, "samples", c->count.nr);
	json_put_u64(d->j, "period", c->count.period);
	json_put_double(d->j, "value", c->value);
	if (!is_first) {
		put_state(d->j, c);
		if (d->feed->opts.diff.order == REPORT_DIFF_BY_WDIFF)
			json_put_double(d->j, "wdiff", c->wdiff);
	}
	json_close(d->j, '}');
}

static void put_row(const struct diff_writer *d, const struct diff_table *t,
		    const struct report_diff_row *row)
{
	const struct report_sort *sort = &d->feed->opts.sort;

	json_open(d->j, '{');
	for (size_t k = 0; k < sort->nr; k++)
		put_key(d->j, sort->keys[k], diff_row_text(t, row, k));
	json_key(d->j, "values");
	json_open(d->j, '[');
	for (uint32_t i = 0; i < d->feed->nr_inputs; i++)
		put_cell(d, report_diff_cell(&t->diff, row, i), !i);
	json_close(d->j, ']');
	json_close(d->j, '}');
	buf_char(d->j->out, '\n');
}

static enum clew_err put_table(const struct diff_writer *d, const struct diff_table *t)
{
	enum clew_err err = CLEW_OK;

	json_open(d->j, '{');
	json_key(d->j, "events");
	json_open(d->j, '[');
	for (uint32_t i = 0; i < d->feed->nr_inputs; i++)
		put_event(d->j, &t->events[i]);
	json_close(d->j, ']');
	json_put_u64(d->j, "hidden_rows", t->diff.rows.nr - t->diff.nr_shown);
	json_key(d->j, "rows");
	json_open(d->j, '[');
	for (size_t r = 0; r < t->diff.nr_shown && err == CLEW_OK; r++) {
		put_row(d, t, &t->diff.rows.data[r]);
		err = sink_flush(d->sink, d->j->out, FLUSH_BYTES);
	}
	json_close(d->j, ']');
	json_close(d->j, '}');
	return err;
}

static enum clew_err put_tables(const struct diff_writer *d)
{
	enum clew_err err = CLEW_OK;

	json_key(d->j, "tables");
	json_open(d->j, '[');
	for (size_t i = 0; i < d->feed->tables.nr && err == CLEW_OK; i++) {
		if (diff_table_has_samples(d->feed, d->feed->tables.data[i]))
			err = put_table(d, d->feed->tables.data[i]);
	}
	json_close(d->j, ']');
	return err;
}

enum clew_err diff_json(const struct diff_feed *feed, const struct diff_input *inputs,
			const struct clew_sink *sink)
{
	struct buf out = {0};
	struct json_put j = {.out = &out};
	const struct diff_writer d = {feed, inputs, sink, &j};
	enum clew_err err;

	json_open(&j, '{');
	json_put_string(&j, "format", "clew-diff");
	json_put_u64(&j, "version", VERSION);
	json_put_string(&j, "normalize", diff_norm_name(feed->opts.norm));
	if (feed->opts.norm == REPORT_DIFF_REF)
		json_put_string(&j, "ref", feed->opts.ref);
	put_inputs(&d);
	put_sort(&d);
	err = put_tables(&d);
	json_close(&j, '}');
	buf_char(&out, '\n');
	err = err == CLEW_OK ? sink_flush(sink, &out, 0) : err;
	buf_done(&out);
	return err;
}
