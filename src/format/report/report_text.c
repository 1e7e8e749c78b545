/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_text.h"

#include <stdio.h>

#include "base/escape.h"
#include "base/text_columns.h"
#include "format/collapsed_put.h"
#include "format/report/report_text_impl.h"

enum {
	FLUSH_BYTES = 64 << 10,
	SHARE_COLUMNS = 8, /* "  99.99%" */
	NUMBER_COLUMNS = 12,
	MAX_RULE = 60, /* longest line of dots */
};

/* Write out the buffer, if it is large or @is_end. */
static enum clew_err flush(struct report_writer *w, bool is_end)
{
	enum clew_err err = CLEW_OK;

	if (w->out.is_failed || w->cell.is_failed)
		return CLEW_NO_MEMORY;
	if (w->out.nr && (is_end || w->out.nr >= FLUSH_BYTES)) {
		err = w->sink->write(w->sink->ctx, w->out.data, w->out.nr);
		buf_clear(&w->out);
	}
	return err;
}

static void put_gap(struct report_writer *w, bool *is_first)
{
	if (w->opts->separator)
		buf_str(&w->out, *is_first ? "" : w->opts->separator);
	else
		buf_str(&w->out, "  ");
	*is_first = false;
}

/* A number or title in its column. */
static void put_right(struct report_writer *w, const char *text, unsigned int width)
{
	if (w->opts->separator)
		buf_str(&w->out, text);
	else
		buf_field(&w->out, text, (int)width);
}

static void put_number(struct report_writer *w, uint64_t v)
{
	buf_dec(&w->out, v, w->opts->separator ? 0 : NUMBER_COLUMNS, ' ');
}

static void put_value(struct report_writer *w, const struct report_row *row, uint32_t event,
		      bool *is_first)
{
	const struct report_value *v = report_row_value(&w->table->rows, row, event);
	unsigned int width = w->opts->separator ? 0 : SHARE_COLUMNS;
	uint64_t whole = w->table->periods[event];

	if (w->opts->by_total) {
		put_gap(w, is_first);
		report_put_share(w, v->total, whole, width);
	}
	put_gap(w, is_first);
	report_put_share(w, v->self, whole, width);
	if (w->opts->has_nr) {
		put_gap(w, is_first);
		put_number(w, v->nr);
	}
	if (w->opts->has_period) {
		put_gap(w, is_first);
		put_number(w, v->self);
	}
}

/* The cell's text in its column. */
static void put_key(struct report_writer *w, size_t width, bool is_last)
{
	size_t columns = report_put_cell(w, width);

	if (!w->opts->separator && !is_last && columns < width)
		buf_fill(&w->out, ' ', width - columns);
}

void report_put_row(struct report_writer *w, const struct report_row *row, const size_t *widths)
{
	const struct report_sort *sort = report_feed_sort(w->feed);
	bool is_first = true;

	for (uint32_t e = 0; e < w->table->nr_events; e++)
		put_value(w, row, e, &is_first);
	for (size_t i = 0; i < sort->nr; i++) {
		if (!widths[i])
			continue;
		buf_clear(&w->cell);
		report_feed_row_text(w->feed, row, sort->keys[i], &w->cell);
		put_gap(w, &is_first);
		put_key(w, widths[i], i + 1 == sort->nr);
	}
	report_end_line(w);
}

void report_measure(struct report_writer *w, size_t *widths)
{
	const struct report_sort *sort = report_feed_sort(w->feed);
	struct buf escaped = {0};

	for (size_t i = 0; i < sort->nr; i++) {
		widths[i] = strlen(report_key_title(sort->keys[i]));
		for (size_t r = 0; r < w->table->nr_shown; r++) {
			size_t columns;

			buf_clear(&w->cell);
			buf_clear(&escaped);
			report_feed_row_text(w->feed, &w->table->rows.rows.data[r], sort->keys[i],
					     &w->cell);
			escape_add(&escaped, w->cell.data, w->cell.nr);
			columns = text_columns(escaped.data, escaped.nr);
			if (columns > widths[i])
				widths[i] = columns;
		}
	}
	buf_done(&escaped);
}

struct number_column {
	bool is_there;
	const char *title;
	unsigned int width;
};

enum { NR_NUMBER_COLUMNS = 4 };

/* Of each event. */
static void number_columns(const struct report_text_opts *o,
			   struct number_column ret[NR_NUMBER_COLUMNS])
{
	ret[0] = (struct number_column){o->by_total, "Children", SHARE_COLUMNS};
	ret[1] = (struct number_column){true, o->by_total ? "Self" : "Overhead", SHARE_COLUMNS};
	ret[2] = (struct number_column){o->has_nr, "Samples", NUMBER_COLUMNS};
	ret[3] = (struct number_column){o->has_period, "Period", NUMBER_COLUMNS};
}

void report_limit_widths(const struct report_writer *w, size_t *widths)
{
	struct number_column columns[NR_NUMBER_COLUMNS];
	size_t used = 0, nr = 0;

	number_columns(w->opts, columns);
	for (size_t c = 0; c < NR_NUMBER_COLUMNS; c++) {
		used += columns[c].is_there ? w->table->nr_events * (2 + columns[c].width) : 0;
		nr += columns[c].is_there;
	}
	report_fit(w, used, nr, widths, report_feed_sort(w->feed)->nr);
}

void report_put_head(struct report_writer *w, const size_t *widths, bool is_rule)
{
	static const char dots[] = "............................................................";
	const struct report_sort *sort = report_feed_sort(w->feed);
	struct number_column columns[NR_NUMBER_COLUMNS];
	bool is_first = true;

	buf_char(&w->out, '#');
	if (w->opts->separator)
		buf_char(&w->out, ' ');
	number_columns(w->opts, columns);
	for (size_t e = 0; e < w->table->nr_events; e++) {
		for (size_t c = 0; c < NR_NUMBER_COLUMNS; c++) {
			bool starts_line = is_first;
			char text[MAX_RULE + 1];

			if (!columns[c].is_there)
				continue;
			put_gap(w, &is_first);
			if (starts_line && !w->opts->separator)
				w->out.nr--; /* '#' took the first blank's place */
			snprintf(text, sizeof(text), "%.*s", (int)columns[c].width, dots);
			put_right(w, is_rule ? text : columns[c].title, columns[c].width);
		}
	}
	for (size_t i = 0; i < sort->nr; i++) {
		bool is_last = i + 1 == sort->nr;

		if (!widths[i])
			continue;
		buf_clear(&w->cell);
		if (is_rule)
			buf_fill(&w->cell, '.',
				 widths[i] > MAX_RULE && is_last ? MAX_RULE : widths[i]);
		else
			buf_str(&w->cell, report_key_title(sort->keys[i]));
		put_gap(w, &is_first);
		put_key(w, widths[i], is_last);
	}
	report_end_line(w);
}

static void put_event_lines(struct report_writer *w)
{
	size_t from = w->out.nr;

	for (size_t e = 0; e < w->table->nr_events; e++) {
		const struct report_event *ev = w->table->events[e];

		buf_str(&w->out, "# Samples: ");
		buf_dec(&w->out, ev->nr, 0, ' ');
		buf_str(&w->out, " of event '");
		escape_str(&w->out, ev->evsel->name);
		buf_str(&w->out, "'");
		if (ev->nr_stacks)
			buf_printf(&w->out, ", branches of %llu samples",
				   (unsigned long long)ev->nr_stacks);
		if (ev->nr_kept != ev->nr)
			buf_printf(&w->out, ", of which the filter keeps %llu",
				   (unsigned long long)ev->nr_kept);
		buf_str(&w->out, "\n# Event count (approx.): ");
		buf_dec(&w->out, ev->period, 0, ' ');
		buf_char(&w->out, '\n');
		if (ev->nr_no_room)
			buf_printf(&w->out,
				   "# Call paths of %llu samples are cut to the sampled function: "
				   "more distinct places in call paths than there is room for\n",
				   (unsigned long long)ev->nr_no_room);
	}
	if (w->table->graphs.is_cut)
		buf_printf(&w->out,
			   "# Some call graphs are incomplete: more than %zu branches; raise the "
			   "limit of -g\n",
			   w->table->graphs.max_nodes);
	buf_str(&w->out, "#\n");
	text_fold(&w->out, from, w->opts->columns);
}

static enum clew_err put_table(struct report_writer *w)
{
	size_t widths[REPORT_NR_KEYS];
	enum clew_err err = CLEW_OK;

	report_measure(w, widths);
	report_limit_widths(w, widths);
	put_event_lines(w);
	report_put_head(w, widths, false);
	if (!w->opts->separator) {
		report_put_head(w, widths, true);
		buf_str(&w->out, "#\n");
	}
	for (size_t r = 0; r < w->table->nr_shown && err == CLEW_OK; r++) {
		const struct report_row *row = &w->table->rows.rows.data[r];

		report_put_row(w, row, widths);
		if (w->opts->style != REPORT_GRAPH_NONE && row->graph != REPORT_NONE)
			err = report_put_graph(w, row);
		if (err == CLEW_OK)
			err = flush(w, false);
	}
	buf_str(&w->out, "\n");
	return err == CLEW_OK ? flush(w, true) : err;
}

enum clew_err report_text_table(const struct report_feed *f, const struct report_table *t,
				const struct report_text_opts *opts, const struct clew_sink *sink)
{
	struct report_writer w = {.feed = f, .table = t, .opts = opts, .sink = sink};
	enum clew_err err = put_table(&w);

	buf_done(&w.out);
	buf_done(&w.cell);
	return err;
}

struct folded {
	struct report_writer *writer;
	bool by_period;
};

static void put_folded_name(struct report_writer *w)
{
	collapsed_end_frame(&w->cell, 0);
	report_put_cell(w, SIZE_MAX);
}

static enum clew_err put_path(void *ctx, const char *comm, const uint32_t *frames, size_t nr,
			      const struct report_weight *weight)
{
	struct folded *f = ctx;
	struct report_writer *w = f->writer;

	buf_clear(&w->cell);
	buf_str(&w->cell, comm ? comm : "all");
	put_folded_name(w);
	for (size_t i = 0; i < nr; i++) {
		buf_char(&w->out, ';');
		buf_clear(&w->cell);
		report_feed_frame_name(w->feed, frames[i], &w->cell);
		put_folded_name(w);
	}
	collapsed_end_line(&w->out, f->by_period ? weight->period : weight->nr);
	return flush(w, false);
}

enum clew_err report_text_folded(const struct report_feed *f, size_t event, bool by_period,
				 const struct clew_sink *sink)
{
	const struct report_text_opts opts = {.style = REPORT_GRAPH_NONE};
	struct report_writer w = {.feed = f, .opts = &opts, .sink = sink};
	struct folded ctx = {&w, by_period};
	enum clew_err err = report_feed_paths(f, event, put_path, &ctx);

	if (err == CLEW_OK)
		err = flush(&w, true);
	buf_done(&w.out);
	buf_done(&w.cell);
	return err;
}
