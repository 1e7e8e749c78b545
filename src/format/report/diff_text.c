/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/diff_text.h"

#include <stdio.h>

#include "base/escape.h"
#include "base/text_columns.h"
#include "format/report/diff_json.h"
#include "format/report/report_text_impl.h"
#include "format/sink_flush.h"

enum {
	FLUSH_BYTES = 64 << 10,
	VALUE_COLUMNS = 9, /* " 100.00%" */
	NUMBER_COLUMNS = 15,
	RATIO_COLUMNS = 7,
	MAX_RULE = 60,
	MAX_NUMBER = 64,
	HUNDRED = 100 /* numbers from here on have no decimals */
};

static const char dim[] = "\033[2m", red[] = "\033[31m", green[] = "\033[32m", normal[] = "\033[m";

struct diff_writer {
	struct report_writer w; /* its cells and lines */
	const struct diff_feed *feed;
	const struct diff_table *table;
	const struct diff_input *inputs;
	const struct diff_text_opts *opts;
	bool is_percent, has_wdiff;
	size_t nr_numbers; /* columns before the keys */
	unsigned int value_columns;
};

static enum clew_err flush(struct diff_writer *d, size_t least)
{
	if (d->w.cell.is_failed)
		return CLEW_NO_MEMORY;
	return sink_flush(d->w.sink, &d->w.out, least);
}

/* --- Numbers. --- */

static void put_gap(struct diff_writer *d, size_t *column)
{
	if (*column)
		buf_str(&d->w.out, d->opts->separator ? d->opts->separator : "  ");
	++*column;
}

static void put_field(struct diff_writer *d, size_t *column, const char *text, unsigned int width)
{
	put_gap(d, column);
	buf_field(&d->w.out, text, d->opts->separator ? 0 : (int)width);
}

static void number_text(char text[MAX_NUMBER], double v, bool is_percent, bool has_sign)
{
	bool is_small = is_percent || (v < HUNDRED && v > -HUNDRED);

	snprintf(text, MAX_NUMBER, is_small ? "%+.2f" : "%+.0f", v);
	if (!strcmp(text, "+0.00") || !strcmp(text, "-0.00"))
		snprintf(text, MAX_NUMBER, "0.00");
	else if (!has_sign && text[0] == '+')
		memmove(text, text + 1, strlen(text));
	if (is_percent)
		strcat(text, "%"); /* there is room: periods have 20 digits */
}

static void put_value(struct diff_writer *d, size_t *column, const struct report_diff_cell *c)
{
	char text[MAX_NUMBER] = "-";

	if (c->count.nr)
		number_text(text, c->value, d->is_percent, false);
	put_field(d, column, text, d->value_columns);
}

/* With a mark where it may be noise. */
static void put_delta(struct diff_writer *d, size_t *column, const struct report_diff_cell *c)
{
	bool is_aligned = !d->opts->separator;
	const char *color = !d->opts->is_colored || !c->is_significant ? NULL
			  : c->delta > 0                               ? red
								       : green;
	char text[MAX_NUMBER] = "-";
	size_t width = d->value_columns, size;

	if (c->state != REPORT_DIFF_IN_NONE)
		number_text(text, c->delta, d->is_percent, true);
	put_gap(d, column);
	size = strlen(text);
	if (is_aligned && size < width)
		buf_fill(&d->w.out, ' ', width - size);
	buf_str(&d->w.out, color ? color : "");
	buf_str(&d->w.out, text);
	buf_str(&d->w.out, color ? normal : "");
	if (is_aligned)
		buf_char(&d->w.out,
			 c->is_significant || !(c->delta < 0 || c->delta > 0) ? ' ' : '~');
}

static void put_ratio(struct diff_writer *d, size_t *column, const struct report_diff_cell *c)
{
	char text[MAX_NUMBER] = "-";

	if (c->state == REPORT_DIFF_NEW)
		snprintf(text, sizeof(text), "new");
	else if (c->state == REPORT_DIFF_GONE)
		snprintf(text, sizeof(text), "gone");
	else if (c->state == REPORT_DIFF_IN_BOTH)
		snprintf(text, sizeof(text), c->ratio < HUNDRED ? "%.3f" : "%.0f", c->ratio);
	put_field(d, column, text, RATIO_COLUMNS);
}

static void put_numbers(struct diff_writer *d, const struct report_diff_row *row, size_t *column)
{
	char text[MAX_NUMBER];

	put_value(d, column, report_diff_cell(&d->table->diff, row, 0));
	for (uint32_t i = 1; i < d->feed->nr_inputs; i++) {
		const struct report_diff_cell *c = report_diff_cell(&d->table->diff, row, i);

		put_value(d, column, c);
		put_delta(d, column, c);
		put_ratio(d, column, c);
		if (!d->has_wdiff)
			continue;
		number_text(text, c->wdiff, false, true);
		put_field(d, column, text, NUMBER_COLUMNS);
	}
}

/* --- Lines. --- */

static void put_key(struct diff_writer *d, size_t *column, size_t width, bool is_last)
{
	size_t columns;

	put_gap(d, column);
	columns = report_put_cell(&d->w, width);
	if (!d->opts->separator && !is_last && columns < width)
		buf_fill(&d->w.out, ' ', width - columns);
}

static void put_row(struct diff_writer *d, const struct report_diff_row *row, const size_t *widths)
{
	bool is_dim = d->opts->is_colored && !row->is_significant;
	size_t nr = d->feed->opts.sort.nr, column = 0;

	if (is_dim)
		buf_str(&d->w.out, dim);
	put_numbers(d, row, &column);
	for (size_t i = 0; i < nr; i++) {
		if (!widths[i])
			continue;
		buf_clear(&d->w.cell);
		buf_str(&d->w.cell, diff_row_text(d->table, row, i));
		put_key(d, &column, widths[i], i + 1 == nr);
	}
	if (is_dim)
		buf_str(&d->w.out, normal);
	report_end_line(&d->w);
}

/* One title or rule of the numbers' columns. */
static void put_title(struct diff_writer *d, size_t *column, const char *title, unsigned int width,
		      bool is_rule)
{
	static const char dots[] = "...............";
	bool takes_blank = !*column && !d->opts->separator; /* '#' stands in its place */
	char text[MAX_NUMBER];

	width -= takes_blank;
	snprintf(text, sizeof(text), "%.*s", is_rule ? (int)width : MAX_NUMBER - 1,
		 is_rule ? dots : title);
	put_field(d, column, text, width);
}

static void put_delta_titles(struct diff_writer *d, size_t *column, uint32_t input, bool is_rule)
{
	bool is_one = d->feed->nr_inputs == 2;
	char letter = (char)('A' + input), text[MAX_NUMBER];

	snprintf(text, sizeof(text), "%c", letter);
	put_title(d, column, text, d->value_columns, is_rule);
	snprintf(text, sizeof(text), "%c-A", letter);
	put_title(d, column, is_one ? "Delta" : text, d->value_columns, is_rule);
	if (!d->opts->separator)
		buf_char(&d->w.out, ' '); /* the mark's */
	snprintf(text, sizeof(text), "%c/A", letter);
	put_title(d, column, is_one ? "Ratio" : text, RATIO_COLUMNS, is_rule);
	if (d->has_wdiff)
		put_title(d, column, "Weighted", NUMBER_COLUMNS, is_rule);
}

static void put_head(struct diff_writer *d, const size_t *widths, bool is_rule)
{
	const struct report_sort *sort = &d->feed->opts.sort;
	size_t column = 0;

	buf_str(&d->w.out, d->opts->separator ? "# " : "#");
	put_title(d, &column, "A", d->value_columns, is_rule);
	for (uint32_t i = 1; i < d->feed->nr_inputs; i++)
		put_delta_titles(d, &column, i, is_rule);
	for (size_t i = 0; i < sort->nr; i++) {
		bool is_last = i + 1 == sort->nr;

		if (!widths[i])
			continue;
		buf_clear(&d->w.cell);
		if (is_rule)
			buf_fill(&d->w.cell, '.',
				 widths[i] > MAX_RULE && is_last ? MAX_RULE : widths[i]);
		else
			buf_str(&d->w.cell, report_key_title(sort->keys[i]));
		put_key(d, &column, widths[i], is_last);
	}
	report_end_line(&d->w);
}

static void put_input(struct diff_writer *d, uint32_t i)
{
	const struct diff_event *e = &d->table->events[i];
	struct buf *out = &d->w.out;
	char text[MAX_NUMBER];

	buf_printf(out, "# %c: ", (char)('A' + i));
	escape_str(out, d->inputs[i].path);
	buf_printf(out, ": %llu samples of event '", (unsigned long long)e->all.nr);
	escape_str(out, e->name ? e->name : "");
	buf_printf(out, "', total %llu", (unsigned long long)e->all.period);
	if (e->unit) {
		buf_char(out, ' ');
		escape_str(out, e->unit);
	}
	if (e->kept.nr != e->all.nr)
		buf_printf(out, ", of which the filter keeps %llu samples, %llu",
			   (unsigned long long)e->kept.nr, (unsigned long long)e->kept.period);
	if (d->inputs[i].nr_lost)
		buf_printf(out, ", %llu lost", (unsigned long long)d->inputs[i].nr_lost);
	if (d->feed->opts.norm == REPORT_DIFF_TIME)
		buf_printf(out, ", in %.6f s", (double)e->whole.ns / 1e9);
	if (d->feed->opts.norm == REPORT_DIFF_CPU)
		buf_printf(out, ", in %.6f s of CPU time", (double)e->whole.cpu_ns / 1e9);
	if (d->feed->opts.norm != REPORT_DIFF_NONE) {
		number_text(text, e->value, d->is_percent, false);
		buf_printf(out, ": %s", text);
	}
	buf_char(out, '\n');
}

static void put_norm(struct diff_writer *d)
{
	static const char *const texts[] = {
		[REPORT_DIFF_SHARE] = "shares of the recording's total, differences in percentage "
				      "points",
		[REPORT_DIFF_TIME] = "totals per second of the recording",
		[REPORT_DIFF_CPU] = "totals per second of CPU time",
		[REPORT_DIFF_REF] = "percent of the total of the function ",
		[REPORT_DIFF_NONE] = "totals as recorded",
	};
	struct buf *out = &d->w.out;

	buf_printf(out, "# Values (--normalize %s): %s", diff_norm_name(d->feed->opts.norm),
		   texts[d->feed->opts.norm]);
	if (d->feed->opts.norm == REPORT_DIFF_REF)
		escape_str(out, d->feed->opts.ref);
	buf_char(out, '\n');
	if (!d->opts->separator)
		buf_str(out, "# ~ after a difference: within two standard errors, it may be noise "
			     "of sampling\n");
	if (d->table->diff.nr_shown < d->table->diff.rows.nr)
		buf_printf(out, "# Rows: %zu of %zu\n", d->table->diff.nr_shown,
			   d->table->diff.rows.nr);
	buf_str(out, "#\n");
}

/* Columns of each sort key: its title's, or its longest text's. */
static void measure(struct diff_writer *d, size_t *widths)
{
	const struct report_sort *sort = &d->feed->opts.sort;
	struct buf escaped = {0};

	for (size_t i = 0; i < sort->nr; i++) {
		widths[i] = strlen(report_key_title(sort->keys[i]));
		for (size_t r = 0; r < d->table->diff.nr_shown; r++) {
			size_t columns;

			buf_clear(&escaped);
			escape_str(&escaped,
				   diff_row_text(d->table, &d->table->diff.rows.data[r], i));
			columns = text_columns(escaped.data, escaped.nr);
			widths[i] = columns > widths[i] ? columns : widths[i];
		}
	}
	buf_done(&escaped);
}

static void limit_widths(struct diff_writer *d, size_t *widths)
{
	size_t used = d->value_columns, others = d->feed->nr_inputs - 1;

	d->nr_numbers = 1 + others * (3 + d->has_wdiff);
	used += others * (2 * (2 + d->value_columns) + 1 + 2 + RATIO_COLUMNS);
	used += d->has_wdiff ? others * (2 + NUMBER_COLUMNS) : 0;
	report_fit(&d->w, used, d->nr_numbers, widths, d->feed->opts.sort.nr);
}

static void put_notes(struct diff_writer *d)
{
	for (uint32_t i = 0; i < d->feed->nr_inputs; i++)
		put_input(d, i);
	put_norm(d);
}

static enum clew_err put_table(struct diff_writer *d)
{
	size_t widths[REPORT_NR_KEYS], from = d->w.out.nr;
	enum clew_err err = CLEW_OK;

	put_notes(d);
	text_fold(&d->w.out, from, d->opts->columns);
	measure(d, widths);
	limit_widths(d, widths);
	put_head(d, widths, false);
	if (!d->opts->separator) {
		put_head(d, widths, true);
		buf_str(&d->w.out, "#\n");
	}
	for (size_t r = 0; r < d->table->diff.nr_shown && err == CLEW_OK; r++) {
		put_row(d, &d->table->diff.rows.data[r], widths);
		err = flush(d, FLUSH_BYTES);
	}
	buf_char(&d->w.out, '\n');
	return err == CLEW_OK ? flush(d, 0) : err;
}

static struct report_text_opts cells_of(const struct diff_text_opts *opts)
{
	return (struct report_text_opts){.is_colored = opts->is_colored,
					 .separator = opts->separator,
					 .columns = opts->columns,
					 .cut_mark = opts->cut_mark};
}

static struct diff_writer writer_of(const struct diff_feed *f, const struct diff_table *t,
				    const struct diff_input *inputs,
				    const struct diff_text_opts *opts,
				    const struct report_text_opts *cells)
{
	bool is_percent = report_diff_is_percent(f->opts.norm);

	return (struct diff_writer){
		.w = {.opts = cells},
		.feed = f,
		.table = t,
		.inputs = inputs,
		.opts = opts,
		.is_percent = is_percent,
		.has_wdiff = f->opts.diff.order == REPORT_DIFF_BY_WDIFF,
		.value_columns = is_percent ? VALUE_COLUMNS : NUMBER_COLUMNS,
	};
}

enum clew_err diff_text_table(const struct diff_feed *f, const struct diff_table *t,
			      const struct diff_input *inputs, const struct diff_text_opts *opts,
			      const struct clew_sink *sink)
{
	const struct report_text_opts cells = cells_of(opts);
	struct diff_writer d = writer_of(f, t, inputs, opts, &cells);
	enum clew_err err;

	d.w.sink = sink;
	err = put_table(&d);
	buf_done(&d.w.out);
	buf_done(&d.w.cell);
	return err;
}

/* --- Lines one at a time. --- */

struct diff_lines {
	struct diff_writer d;
	struct diff_text_opts opts;
	struct report_text_opts cells;
	size_t measured[REPORT_NR_KEYS], widths[REPORT_NR_KEYS];
};

enum clew_err diff_lines_new(struct diff_lines **ret, const struct diff_feed *f,
			     const struct diff_table *t, const struct diff_input *inputs,
			     const struct diff_text_opts *opts)
{
	struct diff_lines *l = mem_zalloc(sizeof(*l));

	if (!l)
		return CLEW_NO_MEMORY;
	l->opts = *opts;
	l->opts.separator = NULL;
	l->cells = cells_of(&l->opts);
	l->cells.keeps_ends = true;
	l->d = writer_of(f, t, inputs, &l->opts, &l->cells);
	measure(&l->d, l->measured);
	diff_lines_set_columns(l, opts->columns);
	*ret = l;
	return CLEW_OK;
}

void diff_lines_free(struct diff_lines *l)
{
	if (!l)
		return;
	buf_done(&l->d.w.out);
	buf_done(&l->d.w.cell);
	mem_free(l);
}

void diff_lines_set_columns(struct diff_lines *l, size_t columns)
{
	l->cells.columns = columns;
	memcpy(l->widths, l->measured, sizeof(l->widths));
	limit_widths(&l->d, l->widths);
}

void diff_lines_head(struct diff_lines *l, struct buf *out)
{
	put_notes(&l->d);
	report_take_line(&l->d.w, out);
}

void diff_lines_titles(struct diff_lines *l, struct buf *out)
{
	l->cells.keeps_ends = false; /* titles are known by how they begin */
	put_head(&l->d, l->widths, false);
	l->cells.keeps_ends = true;
	if (l->d.w.out.nr)
		l->d.w.out.data[0] = ' '; /* '#' */
	report_take_line(&l->d.w, out);
}

bool diff_lines_row(struct diff_lines *l, size_t row, struct buf *out)
{
	put_row(&l->d, &l->d.table->diff.rows.data[row], l->widths);
	return report_take_line(&l->d.w, out);
}
