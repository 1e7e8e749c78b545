/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/ops_cells.h"

#include <stdio.h>

#include "base/text_columns.h"

void ops_begin_cell(struct ops_table *t, unsigned int gap)
{
	if (!t->separator)
		buf_fill(t->out, ' ', gap);
	else if (t->has_cell)
		buf_str(t->out, t->separator);
	t->has_cell = true;
}

void ops_put(struct ops_table *t, const struct ops_column *c, const char *text)
{
	ops_begin_cell(t, c->gap);
	buf_field(t->out, text, t->separator ? 0 : c->width);
}

void ops_put_last(struct ops_table *t, const char *text)
{
	ops_put(t, &(struct ops_column){.gap = 2}, text);
}

void ops_put_number(struct ops_table *t, const struct ops_column *c, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	ops_put(t, c, text);
}

void ops_put_mean(struct ops_table *t, const struct ops_column *c, const struct latency *l)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", latency_mean(l));
	ops_put(t, c, text);
}

void ops_put_share(struct ops_table *t, const struct ops_column *c, uint64_t part, uint64_t whole)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f%%", whole ? 100.0 * (double)part / (double)whole : 0.0);
	ops_put(t, c, text);
}

void ops_end_line(struct ops_table *t)
{
	buf_char(t->out, '\n');
	t->has_cell = false;
}

void ops_put_titles(struct ops_table *t, const struct ops_column *columns, size_t nr)
{
	size_t from = t->out->nr;

	if (t->separator)
		buf_str(t->out, "# ");
	for (size_t i = 0; i < nr; i++)
		ops_put(t, &columns[i], columns[i].title);
	if (!t->separator && !t->out->is_failed)
		t->out->data[from] = '#';
}

void ops_end_titles(struct ops_table *t)
{
	ops_end_line(t);
	if (!t->separator)
		buf_str(t->out, "#\n");
}

void ops_put_wide(struct ops_table *t, unsigned int gap, const struct buf *text, size_t width)
{
	size_t n = text_columns(text->data, text->nr);

	ops_begin_cell(t, gap);
	buf_add(t->out, text->data, text->nr);
	if (!t->separator && width > n)
		buf_fill(t->out, ' ', width - n);
}
