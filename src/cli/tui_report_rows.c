/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "cli/report_events.h"
#include "cli/tui_report_impl.h"

bool tui_report_frame_of(const struct tui_report *t, uint64_t node, uint32_t *ret)
{
	const struct report_sort *s = report_feed_sort(t->in.feed);
	bool has_frames = report_sort_has(s, REPORT_SYM) || report_sort_has(s, REPORT_DSO) ||
			  report_sort_has_lines(s);

	if (!has_frames && tui_node_is_row(node))
		return false;
	*ret = tui_node_frame(t->in.feed, &t->table, node);
	return true;
}

/* --- the browser's source --- */

static bool add_rows(struct tui_report *t, struct tui_nodes *ret)
{
	for (size_t i = 0; i < t->table.nr_shown; i++) {
		if (tui_report_passes(t, &t->table.rows.rows.data[t->order[i]]) &&
		    !vec_push(ret, t->order[i]))
			return false;
	}
	return true;
}

static bool children(void *ctx, bool is_top, uint64_t node, struct tui_nodes *ret)
{
	struct tui_report *t = ctx;

	return is_top ? add_rows(t, ret) : tui_node_children(t->fitted.lines, node, ret);
}

static bool opens(void *ctx, uint64_t node)
{
	const struct tui_report *t = ctx;

	return tui_node_opens(t->fitted.lines, node);
}

static void put_dso(const struct tui_report *t, uint32_t node, struct buf *out)
{
	uint32_t frame = t->table.graphs.nodes.data[node].frame;

	buf_str(out, "  ");
	escape_str(out, report_feed_frame(t->in.feed, frame).dso);
}

static bool line(void *ctx, uint64_t node, size_t columns, struct buf *out)
{
	struct tui_report *t = ctx;
	struct report_line_node n;
	bool is_cut;

	if (tui_node_is_row(node))
		return tui_fitted_row(&t->fitted, (size_t)node, columns, out);
	n = tui_node_line(node);
	is_cut = report_lines_node(t->fitted.lines, n, columns, out);
	if (t->has_dsos && n.kind != REPORT_LINE_MORE)
		put_dso(t, n.node, out);
	return is_cut;
}

void tui_report_name(void *ctx, uint64_t node, bool is_whole, struct buf *out)
{
	struct tui_report *t = ctx;
	struct report_line_node n = tui_node_line(node);

	if (tui_node_is_row(node))
		tui_row_name(t->in.feed, &t->table.rows.rows.data[node], is_whole, out);
	else if (n.kind != REPORT_LINE_MORE)
		report_feed_frame_name(t->in.feed, t->table.graphs.nodes.data[n.node].frame, out);
	if (is_whole && !tui_node_is_row(node) && n.kind != REPORT_LINE_MORE)
		put_dso(t, n.node, out);
}

static uint64_t identity(void *ctx, uint64_t node)
{
	const struct tui_report *t = ctx;
	const struct report_row *row;

	if (!tui_node_is_row(node))
		return hash_two(node >> TUI_KIND_SHIFT,
				tui_node_frame(t->in.feed, &t->table, node));
	row = &t->table.rows.rows.data[node];
	return hash_two(row->key, row->group);
}

static void titles(void *ctx, size_t columns, struct buf *out)
{
	struct tui_report *t = ctx;

	tui_fitted_titles(&t->fitted, columns, out);
}

/* How much of the first line there is room for. */
enum head_part { HEAD_ALL, HEAD_WITHOUT_FILE, HEAD_WITHOUT_PERIOD, HEAD_SHORT };

static void put_head(struct tui_report *t, enum head_part part, size_t columns, struct buf *out)
{
	const struct report_event *ev = t->table.nr_events ? t->table.events[0] : NULL;
	size_t from = out->nr, used;

	buf_char(out, ' ');
	if (ev) {
		buf_str(out, part < HEAD_SHORT ? "Samples: " : "");
		buf_dec(out, ev->nr, 0, ' ');
		buf_str(out, part < HEAD_SHORT ? " of event '" : " of '");
		escape_str(out, ev->evsel->name);
		buf_char(out, '\'');
		if (t->table.nr_events > 1)
			buf_printf(out, " and %zu more", t->table.nr_events - 1);
		if (part < HEAD_WITHOUT_PERIOD)
			buf_printf(out, ", %llu", (unsigned long long)ev->period);
	}
	tui_report_zoom_text(t, out);
	tui_browser_put_filter(t->browser, out);
	buf_str(out, t->is_relative ? "  % of these" : "");
	if (part > HEAD_ALL)
		return;
	buf_clear(&t->text);
	buf_str(&t->text, "  [");
	escape_str(&t->text, t->in.args->in.path);
	buf_str(&t->text, "] ");
	used = tui_text_columns(out->data + from, out->nr - from) +
	       tui_text_columns(t->text.data, t->text.nr);
	buf_fill(out, ' ', used < columns ? columns - used : 0);
	buf_add(out, t->text.data, t->text.nr);
}

static void head(void *ctx, size_t columns, struct buf *out)
{
	size_t from = out->nr;

	for (enum head_part part = HEAD_ALL; part <= HEAD_SHORT; part++) {
		out->nr = from;
		put_head(ctx, part, columns, out);
		if (tui_text_columns(out->data + from, out->nr - from) <= columns)
			return;
	}
}

/* Percent of what filters keep: also of rows that are below the least share. */
static void kept(void *ctx)
{
	struct tui_report *t = ctx;
	const char *filter = t->browser ? tui_browser_filter(t->browser) : "";
	bool is_filtered = t->zooms.nr || *filter;

	if (!t->table.nr_events)
		return;
	memcpy(t->table.periods, t->periods, t->table.nr_events * sizeof(*t->periods));
	if (!t->is_relative || !is_filtered)
		return;
	memset(t->table.periods, 0, t->table.nr_events * sizeof(*t->periods));
	vec_for_each (&t->table.rows.rows, row) {
		if (!tui_report_passes(t, row))
			continue;
		buf_clear(&t->text);
		tui_row_name(t->in.feed, row, false, &t->text);
		if (!strstr(buf_cstr(&t->text), filter))
			continue;
		for (uint32_t e = 0; e < t->table.nr_events; e++)
			t->table.periods[e] += report_row_value(&t->table.rows, row, e)->self;
	}
}

static void nothing(void *ctx, struct buf *out)
{
	const struct tui_report *t = ctx;

	if (t->table.nr_events && t->table.nr_shown) {
		buf_str(out, "No row is left: Esc undoes a filter.\n");
		return;
	}
	if (t->table.nr_events)
		buf_str(out, "No row is above the least share: L lowers it.\n");
	else if (!t->in.summary->nr_samples)
		buf_str(out, "The recording has no samples to show.\n");
	buf_char(out, '\n');
	buf_add(out, t->in.notes->data, t->in.notes->nr);
}

static void closed(void *ctx, uint64_t node, struct buf *out)
{
	const struct tui_report *t = ctx;

	if (!tui_node_is_row(node))
		return;
	if (t->in.feed && !report_has_chains(t->in.args, t->in.feed, t->event))
		buf_str(out, "no call chains: 'clew record -g' records them");
	else
		buf_str(out, "no calls above the least share of -g");
}

const struct tui_source tui_report_source = {
	.children = children,
	.opens = opens,
	.line = line,
	.name = tui_report_name,
	.identity = identity,
	.head = head,
	.titles = titles,
	.kept = kept,
	.nothing = nothing,
	.closed = closed,
	.hints = "h help  Enter menu  a annotate  / filter  q back",
	.keys = tui_report_keys,
	.rows = "rows",
};
