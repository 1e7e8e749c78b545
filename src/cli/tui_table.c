/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/tui_table.h"

#include "base/cleanup.h"
#include "cli/common/options.h"

enum { GAP = 2 };

bool tui_node_is_row(uint64_t node)
{
	return !(node >> TUI_KIND_SHIFT);
}

struct report_line_node tui_node_line(uint64_t node)
{
	return (struct report_line_node){(uint32_t)node,
					 (enum report_line_kind)((node >> TUI_KIND_SHIFT) - 1)};
}

static uint64_t node_of(struct report_line_node n)
{
	return ((uint64_t)n.kind + 1) << TUI_KIND_SHIFT | n.node;
}

uint32_t tui_node_frame(const struct report_feed *f, const struct report_table *t, uint64_t node)
{
	return tui_node_is_row(node) ? report_feed_row_frame(f, &t->rows.rows.data[node])
				     : t->graphs.nodes.data[tui_node_line(node).node].frame;
}

bool tui_node_children(const struct report_lines *l, uint64_t node, struct tui_nodes *ret)
{
	struct report_line_nodes below = {0};
	bool ok = tui_node_is_row(node) ? report_lines_below_row(l, (size_t)node, &below)
					: report_lines_below_node(l, tui_node_line(node), &below);

	vec_for_each (&below, n)
		ok = ok && vec_push(ret, node_of(*n));
	vec_done(&below);
	return ok;
}

bool tui_node_opens(const struct report_lines *l, uint64_t node)
{
	return tui_node_is_row(node) ? report_lines_row_opens(l, (size_t)node)
				     : report_lines_node_opens(l, tui_node_line(node));
}

static void fit(struct tui_fitted *f, size_t columns)
{
	if (f->columns != columns)
		report_lines_set_columns(f->lines, columns ? columns + GAP : 0);
	f->columns = columns;
	buf_clear(&f->text);
}

static void take_text(struct tui_fitted *f, struct buf *out)
{
	if (f->text.nr > GAP)
		buf_add(out, f->text.data + GAP, f->text.nr - GAP);
}

bool tui_fitted_row(struct tui_fitted *f, size_t row, size_t columns, struct buf *out)
{
	bool is_cut;

	fit(f, columns);
	is_cut = report_lines_row(f->lines, row, &f->text);
	take_text(f, out);
	return is_cut;
}

void tui_fitted_titles(struct tui_fitted *f, size_t columns, struct buf *out)
{
	if (!f->lines)
		return;
	fit(f, columns);
	report_lines_titles(f->lines, &f->text);
	take_text(f, out);
}

void tui_fitted_set(struct tui_fitted *f, struct report_lines *lines)
{
	report_lines_free(f->lines);
	f->lines = lines;
	f->columns = 0;
}

void tui_fitted_done(struct tui_fitted *f)
{
	tui_fitted_set(f, NULL);
	buf_done(&f->text);
}

void tui_row_name(const struct report_feed *f, const struct report_row *row, bool is_whole,
		  struct buf *out)
{
	const struct report_sort *s = report_feed_sort(f);

	s = is_whole ? s : report_sort_name(s);
	for (size_t i = 0; i < s->nr; i++) {
		buf_str(out, i ? "  " : "");
		report_feed_row_text(f, row, s->keys[i], out);
	}
}

bool tui_ask_share(struct tui_browser *b, double *share)
{
	clew_auto(buf_done) struct buf text = {0};

	buf_printf(&text, "%g", *share * 100);
	if (!tui_ask("least percent of a row: ", &text, NULL, NULL))
		return false;
	if (cli_parse_percent(buf_cstr(&text), share))
		return true;
	tui_browser_say(b, "a number from 0 to 100, not '%s'", buf_cstr(&text));
	return false;
}
