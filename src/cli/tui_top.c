/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/hash.h"
#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/tui.h"
#include "cli/tui_top_impl.h"

enum { POLL_MS = 100 };

uint32_t tui_top_frame_of(const struct tui_top *t, uint64_t node)
{
	return tui_node_frame(t->view->feed, &t->table, node);
}

uint64_t tui_top_self_of(const struct tui_top *t, uint64_t node)
{
	return tui_node_is_row(node)
		     ? report_row_value(&t->table.rows, &t->table.rows.rows.data[node], 0)->self
		     : t->table.graphs.nodes.data[tui_node_line(node).node].self;
}

/* --- the browser's source --- */

static bool children(void *ctx, bool is_top, uint64_t node, struct tui_nodes *ret)
{
	struct tui_top *t = ctx;
	bool ok = true;

	if (!is_top)
		return tui_node_children(t->fitted.lines, node, ret);
	for (size_t i = 0; i < t->table.nr_shown && ok; i++)
		ok = vec_push(ret, i);
	return ok;
}

static bool opens(void *ctx, uint64_t node)
{
	const struct tui_top *t = ctx;

	return tui_node_opens(t->fitted.lines, node);
}

static bool line(void *ctx, uint64_t node, size_t columns, struct buf *out)
{
	struct tui_top *t = ctx;

	return tui_node_is_row(node)
		     ? tui_fitted_row(&t->fitted, (size_t)node, columns, out)
		     : report_lines_node(t->fitted.lines, tui_node_line(node), columns, out);
}

static void name(void *ctx, uint64_t node, bool is_whole, struct buf *out)
{
	struct tui_top *t = ctx;

	if (tui_node_is_row(node))
		tui_row_name(t->view->feed, &t->table.rows.rows.data[node], is_whole, out);
	else if (tui_node_line(node).kind != REPORT_LINE_MORE)
		report_feed_frame_name(t->view->feed, tui_top_frame_of(t, node), out);
}

/* Numbers are those of one view; names stay. */
static uint64_t identity(void *ctx, uint64_t node)
{
	struct tui_top *t = ctx;
	uint64_t h;

	buf_clear(&t->text);
	name(t, node, true, &t->text);
	h = hash_bytes(t->text.data, t->text.nr);
	return tui_node_is_row(node) ? h : hash_two(h, node >> TUI_KIND_SHIFT);
}

static const char *state_of(const struct tui_top *t)
{
	return t->is_ended ? "  [ended]" : t->is_paused ? "  [stopped]" : "";
}

static void head(void *ctx, size_t columns, struct buf *out)
{
	struct tui_top *t = ctx;
	const struct report_event *ev = t->table.nr_events ? t->table.events[0] : NULL;

	for (int is_short = 0; is_short < 2; is_short++) {
		buf_clear(&t->text);
		buf_char(&t->text, ' ');
		if (ev) {
			escape_str(&t->text, ev->evsel->name);
			buf_str(&t->text, ": ");
		}
		top_put_head(&t->text, t->view, is_short);
		buf_str(&t->text, state_of(t));
		if (tui_text_columns(t->text.data, t->text.nr) <= columns)
			break;
	}
	tui_browser_put_filter(t->browser, &t->text);
	buf_add(out, t->text.data, t->text.nr);
}

static void titles(void *ctx, size_t columns, struct buf *out)
{
	struct tui_top *t = ctx;

	tui_fitted_titles(&t->fitted, columns, out);
}

static void nothing(void *ctx, struct buf *out)
{
	const struct tui_top *t = ctx;

	if (t->table.rows.rows.nr)
		buf_str(out, "No row is left: Esc undoes the filter, K, U, f and L hide rows.\n");
	else
		buf_str(out, "No samples yet.\n");
}

/* --- tables --- */

static void drop_table(struct tui_top *t)
{
	tui_fitted_set(&t->fitted, NULL);
	report_table_done(&t->table);
}

/* The one that is shown, or at first the first one with samples. */
static bool find_event(struct tui_top *t)
{
	size_t nr = report_feed_nr_events(t->view->feed);

	for (size_t i = 0; i < nr && !t->has_event; i++) {
		t->has_event = report_feed_event(t->view->feed, i)->nr;
		t->event = i;
	}
	return t->event < nr && report_feed_event(t->view->feed, t->event)->evsel;
}

static enum clew_err make(struct tui_top *t)
{
	struct report_text_opts text = t->style.text;
	struct report_lines *lines;
	enum clew_err err;

	drop_table(t);
	if (!find_event(t))
		return CLEW_OK;
	err = top_table_make(t->view, t->event, &t->style, &t->table);
	if (err != CLEW_OK)
		return err;
	text.by_total = t->style.table.by_total && t->table.events[0]->has_chains;
	text.is_colored = true; /* the screen knows whether it has colours */
	text.columns = 0;
	text.keeps_ends = true;
	err = report_lines_new(&lines, t->view->feed, &t->table, &text);
	if (err == CLEW_OK)
		tui_fitted_set(&t->fitted, lines);
	else
		drop_table(t); /* the browser asks for the lines of its rows */
	return err;
}

void tui_top_make_again(struct tui_top *t)
{
	if (make(t) != CLEW_OK)
		tui_browser_say(t->browser, "out of memory");
	tui_browser_refresh(t->browser);
}

/* --- life --- */

static void show_newer(struct tui_top *t)
{
	bool is_end;
	struct top_view *v = top_wait(t->in.top, NULL, 0, &is_end);

	t->is_ended |= is_end;
	if (!v)
		return;
	drop_table(t); /* it is of the old one's feed */
	top_release(t->in.top, t->view);
	t->view = v;
	tui_top_make_again(t);
}

static const struct tui_source source = {
	.children = children,
	.opens = opens,
	.line = line,
	.name = name,
	.identity = identity,
	.head = head,
	.titles = titles,
	.nothing = nothing,
	.hints = "h help  + open  a annotate  / filter  Z stop  q leave",
	.keys = tui_top_keys,
	.taken = tui_top_taken,
	.rows = "rows",
};

bool tui_top_open(const struct tui_top *t)
{
	return tui_open(t->has_colors) == CLI_OK;
}

static bool may_go_on(const struct tui_top *t)
{
	uint64_t max = t->in.args->max_refreshes;

	return !max || t->view->number <= max;
}

static void run(struct tui_top *t)
{
	int key = TUI_TIMEOUT;

	while (may_go_on(t) && (key == TUI_TIMEOUT || tui_top_key(t, key))) {
		show_newer(t);
		key = tui_browser_run(t->browser, POLL_MS);
	}
}

static int show(struct tui_top *t)
{
	struct tui_source s = source;
	int status = CLI_FAILED;

	s.ctx = t;
	if (make(t) != CLEW_OK || !tui_top_open(t))
		return CLI_FAILED;
	tui_set_leave(t->in.must_close, t->in.ctx);
	t->browser = tui_browser_new(&s);
	if (t->browser) {
		run(t);
		status = CLI_OK;
	}
	tui_set_leave(NULL, NULL);
	tui_browser_free(t->browser);
	tui_close();
	return status;
}

int tui_top_show(const struct tui_top_input *in)
{
	struct tui_top t = {.in = *in,
			    .style = in->args->style,
			    .refresh_ns = in->args->top.refresh_ns,
			    .is_zeroed = in->args->top.is_zeroed,
			    .has_colors = tui_is_colored(!in->args->has_color)};
	bool is_end = false;
	int status = CLI_OK;

	t.style.text.cut_mark = cli_cut_mark();
	t.view = top_wait(in->top, NULL, -1, &is_end);
	if (t.view) {
		status = show(&t);
		drop_table(&t);
		top_release(in->top, t.view);
	}
	tui_fitted_done(&t.fitted);
	buf_done(&t.text);
	return status;
}
