/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_json.h"

#include "format/json_put.h"
#include "format/tracing_text.h"
#include "format/user_stacks.h"
#include "format/windows_text.h"

enum { VERSION = 1, FLUSH_BYTES = 64 << 10 };

static struct json_put resume(struct report_json *r)
{
	return (struct json_put){.out = &r->out, .needs_comma = r->needs_comma};
}

static enum clew_err pause_at(struct report_json *r, const struct json_put *j, bool is_end)
{
	enum clew_err err = CLEW_OK;

	r->needs_comma = j->needs_comma;
	if (r->out.is_failed || r->text.is_failed)
		return CLEW_NO_MEMORY;
	if (r->out.nr && (is_end || r->out.nr >= FLUSH_BYTES)) {
		err = r->sink->write(r->sink->ctx, r->out.data, r->out.nr);
		buf_clear(&r->out);
	}
	return err;
}

static void put_unresolved(struct json_put *j, const struct ana_summary *s)
{
	json_key(j, "unresolved");
	json_open(j, '[');
	for (size_t i = 0; i < s->nr_unresolved; i++) {
		const struct ana_unresolved *u = &s->unresolved[i];
		const char *why = NULL;

		json_open(j, '{');
		json_put_string(j, "dso", u->dso ? dso_path(u->dso) : NULL);
		json_put_u64(j, "samples", u->nr);
		if (u->dso)
			why = dso_why_no_symbols(u->dso) ? dso_why_no_symbols(u->dso)
							 : dso_note(u->dso);
		json_put_string(j, "reason", why);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_unchecked(struct json_put *j, const struct ana_summary *s)
{
	if (!s->nr_unchecked)
		return;
	json_key(j, "unchecked");
	json_open(j, '[');
	for (size_t i = 0; i < s->nr_unchecked; i++) {
		json_open(j, '{');
		json_put_string(j, "dso", dso_path(s->unchecked[i]));
		json_put_string(j, "file", dso_symbol_file(s->unchecked[i]));
		json_put_string(j, "reason", dso_unchecked(s->unchecked[i]));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_losses(struct json_put *j, const struct ana_loss_sums *s)
{
	json_key(j, "losses");
	json_open(j, '{');
	json_put_u64(j, "intervals", s->nr);
	json_put_u64(j, "records", s->nr_records);
	json_put_u64(j, "ns", s->ns);
	json_close(j, '}');
}

static void put_summary(struct json_put *j, const struct ana_summary *s)
{
	json_key(j, "summary");
	json_open(j, '{');
	json_put_u64(j, "samples", s->nr_samples);
	json_put_u64(j, "filtered", s->nr_filtered);
	json_put_u64(j, "unusable", s->nr_bad);
	json_put_u64(j, "lost", s->nr_lost);
	if (s->nr_bpf_filtered)
		json_put_u64(j, "filtered_by_bpf", s->nr_bpf_filtered);
	if (s->loss_sums.nr)
		put_losses(j, &s->loss_sums);
	json_put_u64(j, "late", s->order.nr_late);
	if (s->nr_over_budget)
		json_put_u64(j, "over_budget", s->nr_over_budget);
	json_put_u64(j, "aux_bytes", s->nr_aux_bytes);
	if (s->nr_aux_missing)
		json_put_u64(j, "aux_missing_bytes", s->nr_aux_missing);
	if (s->kernel_note)
		json_put_string(j, "kernel_note", s->kernel_note);
	if (s->code_note)
		json_put_string(j, "code_note", s->code_note);
	if (s->stacks_note) {
		json_put_string(j, "stacks_note", s->stacks_note);
		json_put_u64(j, "unknown_stacks", s->nr_stacks_unknown);
	}
	if (clew_perf_ns_is_known(s->first_time)) {
		json_put_u64(j, "first_time", s->first_time.ns);
		json_put_u64(j, "last_time", s->last_time.ns);
	}
	if (s->end.code == CLEW_TRUNCATED)
		json_put_u64(j, "cut_at", s->end.offset);
	if (s->users.nr)
		user_stacks_json(j, s);
	if (s->tracing)
		tracing_json(j, s->tracing);
	if (s->windows)
		windows_json(j, s->windows);
	put_unresolved(j, s);
	put_unchecked(j, s);
	json_close(j, '}');
}

enum clew_err report_json_begin(struct report_json *r, const struct ana_summary *s)
{
	const struct report_sort *sort = report_feed_sort(r->feed);
	struct json_put j = resume(r);

	json_open(&j, '{');
	json_put_string(&j, "format", "clew-report");
	json_put_u64(&j, "version", VERSION);
	put_summary(&j, s);
	json_key(&j, "sort");
	json_open(&j, '[');
	for (size_t i = 0; i < sort->nr; i++)
		json_string(&j, report_key_name(sort->keys[i]));
	json_close(&j, ']');
	json_key(&j, "tables");
	json_open(&j, '[');
	return pause_at(r, &j, false);
}

static void put_event(struct json_put *j, const struct report_event *ev)
{
	json_open(j, '{');
	json_put_string(j, "name", ev->evsel->name);
	json_put_u64(j, "samples", ev->nr);
	json_put_u64(j, "period", ev->period);
	json_put_u64(j, "kept_samples", ev->nr_kept);
	json_put_u64(j, "kept_period", ev->period_kept);
	json_put_u64(j, "cut_samples", ev->nr_no_room);
	if (ev->nr_stacks || ev->nr_stackless) {
		json_put_u64(j, "branch_stacks", ev->nr_stacks);
		json_put_u64(j, "stackless_samples", ev->nr_stackless);
		json_put_u64(j, "not_branches", ev->nr_not_branches);
	}
	if (ev->nr_deep) {
		json_put_u64(j, "deep_samples", ev->nr_deep);
		json_put_u64(j, "deep_frames", ev->nr_deep_frames);
	}
	json_close(j, '}');
}

static void put_frame(struct report_json *r, struct json_put *j, uint32_t frame)
{
	struct report_frame_text t = report_feed_frame(r->feed, frame);

	json_put_string(j, "sym", t.sym);
	json_put_string(j, "dso", t.dso);
	if (!t.sym)
		json_put_hex(j, "address", t.address);
	if (t.is_inlined)
		json_put_bool(j, "inlined", true);
}

static bool is_unknown(enum report_key key, uint64_t number)
{
	if (key == REPORT_PID || key == REPORT_TID || key == REPORT_CPU)
		return number >= UINT32_MAX; /* above: no thread at all */
	if (key == REPORT_CYCLES)
		return !number;
	return report_key_is_yes_no(key) && number == REPORT_NOT_KNOWN;
}

static void put_number(struct json_put *j, enum report_key key, uint64_t number)
{
	if (is_unknown(key, number))
		json_put_string(j, report_key_name(key), NULL);
	else if (report_key_is_yes_no(key))
		json_put_bool(j, report_key_name(key), number == REPORT_YES);
	else
		json_put_u64(j, report_key_name(key), number);
}

/* The row's value of one sort key. */
static void put_key(struct report_json *r, struct json_put *j, const struct report_row *row,
		    enum report_key key)
{
	struct report_frame_text t =
		report_feed_frame(r->feed, report_feed_row_frame(r->feed, row));
	char level[2] = {t.level, '\0'};
	uint64_t number;

	if (key == REPORT_SYM) {
		json_put_string(j, "sym", t.sym);
		json_put_string(j, "level", level);
		if (!t.sym)
			json_put_hex(j, "address", t.address);
		return;
	}
	if (report_feed_row_number(r->feed, row, key, &number)) {
		put_number(j, key, number);
		return;
	}
	buf_clear(&r->text);
	report_feed_row_text(r->feed, row, key, &r->text);
	json_put_string(j, report_key_name(key), buf_cstr(&r->text));
}

static void put_values(struct json_put *j, const struct report_table *t,
		       const struct report_row *row)
{
	json_key(j, "values");
	json_open(j, '[');
	for (uint32_t e = 0; e < t->nr_events; e++) {
		const struct report_value *v = report_row_value(&t->rows, row, e);

		json_open(j, '{');
		json_put_u64(j, "total", v->total);
		json_put_u64(j, "self", v->self);
		json_put_u64(j, "samples", v->nr);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_graph(struct report_json *r, struct json_put *j, const struct report_table *t,
		      const struct report_row *row)
{
	const struct report_graph *g = &t->graphs.graphs.data[row->graph];
	const struct report_graph_node *n = t->graphs.nodes.data + g->first;

	json_key(j, "graph");
	json_open(j, '[');
	for (size_t i = 0; i < g->nr; i++) {
		json_open(j, '{');
		json_put_u64(j, "depth", n[i].depth);
		put_frame(r, j, n[i].frame);
		json_put_u64(j, "period", n[i].period);
		json_put_u64(j, "self", n[i].self);
		if (n[i].nr_more)
			json_put_u64(j, "more_frames", n[i].nr_more);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static enum clew_err put_rows(struct report_json *r, struct json_put *j,
			      const struct report_table *t)
{
	const struct report_sort *sort = report_feed_sort(r->feed);
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < t->nr_shown && err == CLEW_OK; i++) {
		const struct report_row *row = &t->rows.rows.data[i];

		json_open(j, '{');
		for (size_t k = 0; k < sort->nr; k++)
			put_key(r, j, row, sort->keys[k]);
		put_values(j, t, row);
		if (row->graph != REPORT_NONE)
			put_graph(r, j, t, row);
		json_close(j, '}');
		buf_char(&r->out, '\n');
		err = pause_at(r, j, false);
	}
	return err;
}

enum clew_err report_json_table(struct report_json *r, const struct report_table *t)
{
	struct json_put j = resume(r);
	enum clew_err err;

	json_open(&j, '{');
	json_key(&j, "events");
	json_open(&j, '[');
	for (size_t e = 0; e < t->nr_events; e++)
		put_event(&j, t->events[e]);
	json_close(&j, ']');
	json_key(&j, "rows");
	json_open(&j, '[');
	err = put_rows(r, &j, t);
	json_close(&j, ']');
	json_close(&j, '}');
	return err == CLEW_OK ? pause_at(r, &j, false) : err;
}

enum clew_err report_json_end(struct report_json *r)
{
	struct json_put j = resume(r);

	json_close(&j, ']');
	json_close(&j, '}');
	buf_char(&r->out, '\n');
	return pause_at(r, &j, true);
}

void report_json_done(struct report_json *r)
{
	buf_done(&r->out);
	buf_done(&r->text);
}
