/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/text_columns.h"
#include "format/report/report_text_impl.h"

enum {
	GAP = 2,
	MIN_LAST = 24, /* what the last column keeps before others shrink */
	MIN_WIDTH = 4,
	/* With keeps_ends: where there is less, columns are omitted. */
	ENOUGH_LAST = 12,
	ENOUGH = 8,
};

static const char *mark_of(const struct report_writer *w)
{
	return w->opts->cut_mark ? w->opts->cut_mark : "...";
}

/* @p width columns without the mark; 0 if the mark does not fit. */
static size_t beside_mark(const struct report_writer *w, size_t width)
{
	size_t mark = text_columns(mark_of(w), strlen(mark_of(w)));

	return width > mark ? width - mark : 0;
}

/* The first half of what fits, the mark, the second half. */
static size_t cut_middle(struct report_writer *w, size_t from, size_t width)
{
	struct buf *out = &w->out;
	size_t room = beside_mark(w, width),
	       columns = text_columns(out->data + from, out->nr - from);
	size_t size = out->nr - from, end = columns - room / 2, tail, used;
	clew_auto(buf_done) struct buf copy = {0};

	tail = text_cut(out->data + from, size, end, &used);
	if (used < end) /* a wide character stands across */
		tail = text_cut(out->data + from, size, end + 1, NULL);
	buf_add(&copy, out->data + from + tail, size - tail);
	out->nr = from + text_cut(out->data + from, size, room - room / 2, NULL);
	buf_str(out, mark_of(w));
	buf_add(out, copy.data, copy.nr);
	return text_columns(out->data + from, out->nr - from);
}

size_t report_cut_cell(struct report_writer *w, size_t from, size_t width)
{
	struct buf *out = &w->out;
	size_t columns, fits;

	if (out->is_failed)
		return 0;
	fits = text_cut(out->data + from, out->nr - from, width, &columns);
	if (fits == out->nr - from)
		return columns;
	w->is_cut = true;
	if (w->opts->keeps_ends)
		return cut_middle(w, from, width);
	out->nr = from + text_cut(out->data + from, out->nr - from, beside_mark(w, width), NULL);
	buf_str(out, mark_of(w));
	return text_columns(out->data + from, out->nr - from);
}

/* Names are escaped, so any ESC begins one of our colours. */
static size_t colour_bytes(const char *s, size_t size)
{
	const char *end = size && *s == '\033' ? memchr(s, 'm', size) : NULL;

	return end ? (size_t)(end - s) + 1 : 0;
}

/* text_cut() of a line with colours. */
static size_t cut_of(const char *s, size_t size, size_t columns)
{
	size_t at = 0;

	while (at < size) {
		const char *colour = memchr(s + at, '\033', size - at);
		size_t plain = colour ? (size_t)(colour - s) - at : size - at, used;
		size_t fits = text_cut(s + at, plain, columns, &used);

		at += fits;
		columns -= used;
		if (fits < plain)
			break;
		at += colour_bytes(s + at, size - at);
	}
	return at;
}

size_t report_line_columns(const char *s, size_t size)
{
	size_t columns = 0;

	while (size) {
		const char *colour = memchr(s, '\033', size);
		size_t plain = colour ? (size_t)(colour - s) : size, skipped;

		columns += text_columns(s, plain);
		skipped = plain + colour_bytes(s + plain, size - plain);
		s += skipped;
		size -= skipped;
	}
	return columns;
}

static size_t line_start(const struct buf *b)
{
	size_t at = b->nr;

	while (at && b->data[at - 1] != '\n')
		at--;
	return at;
}

static void cut_line(struct report_writer *w)
{
	struct buf *out = &w->out;
	size_t from = line_start(out), size = out->nr - from, fits;
	bool has_colour;

	if (cut_of(out->data + from, size, w->opts->columns) == size)
		return;
	w->is_cut = true;
	fits = cut_of(out->data + from, size, beside_mark(w, w->opts->columns));
	has_colour = memchr(out->data + from + fits, '\033', size - fits) != NULL;
	out->nr = from + fits;
	buf_str(out, mark_of(w));
	if (has_colour)
		buf_str(out, "\033[m");
}

void report_end_line(struct report_writer *w)
{
	if (w->opts->columns && !w->opts->separator && !w->out.is_failed)
		cut_line(w);
	buf_char(&w->out, '\n');
}

/* The column that shrinks next: the last down to MIN_LAST, then the widest. NULL: none can. */
static size_t *next_to_give(size_t *widths, size_t nr)
{
	size_t *widest = &widths[nr - 1];

	if (*widest > MIN_LAST)
		return widest;
	for (size_t i = 0; i < nr; i++)
		widest = widths[i] > *widest ? &widths[i] : widest;
	return *widest > MIN_WIDTH ? widest : NULL;
}

/* Omit the first columns, with width 0, until the others have enough. */
static void omit_columns(size_t used, size_t columns, size_t *widths, size_t nr)
{
	for (size_t first = 0; first + 1 < nr; first++) {
		size_t need = used + GAP + ENOUGH_LAST;

		for (size_t i = first; i + 1 < nr; i++)
			need += GAP + (widths[i] < ENOUGH ? widths[i] : ENOUGH);
		if (need <= columns)
			return;
		widths[first] = 0;
	}
}

/* With keeps_ends: the widest of the others, as long as they have enough, then the last one. */
static size_t *next_to_give_way(size_t *widths, size_t nr)
{
	size_t *widest = &widths[0];

	for (size_t i = 0; i + 1 < nr; i++)
		widest = widths[i] > *widest ? &widths[i] : widest;
	if (nr > 1 && *widest > ENOUGH)
		return widest;
	return widths[nr - 1] > MIN_WIDTH ? &widths[nr - 1] : next_to_give(widths, nr);
}

void report_fit(const struct report_writer *w, size_t used, size_t nr_numbers, size_t *widths,
		size_t nr)
{
	size_t *given;

	if (w->opts->separator || !nr)
		return;
	for (size_t i = 0; i < nr && nr_numbers + i < REPORT_MAX_WIDTHS; i++) {
		size_t asked = w->opts->widths[nr_numbers + i];

		widths[i] = asked ? asked : widths[i];
	}
	if (!w->opts->columns)
		return;
	if (w->opts->keeps_ends)
		omit_columns(used, w->opts->columns, widths, nr);
	for (size_t i = 0; i < nr; i++) {
		widths[i] = widths[i] < w->opts->columns ? widths[i] : w->opts->columns;
		used += widths[i] ? GAP + widths[i] : 0;
	}
	for (; used > w->opts->columns; used--) {
		given = w->opts->keeps_ends ? next_to_give_way(widths, nr)
					    : next_to_give(widths, nr);
		if (!given)
			return;
		(*given)--;
	}
}

bool report_take_line(struct report_writer *w, struct buf *out)
{
	bool is_cut = w->is_cut;

	if (w->out.nr && w->out.data[w->out.nr - 1] == '\n')
		w->out.nr--;
	buf_add(out, w->out.data, w->out.nr);
	out->is_failed |= w->out.is_failed || w->cell.is_failed;
	buf_clear(&w->out);
	w->is_cut = false;
	return is_cut;
}
