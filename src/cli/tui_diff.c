/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/tui_diff.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/path_name.h"
#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/tui.h"
#include "cli/tui_file.h"

enum { GAP = 2 };

struct view {
	const struct tui_diff_input *in;
	size_t at; /* the table */
	const struct diff_table *table;
	struct diff_lines *lines;
	size_t columns; /* that lines are fitted to */
	struct tui_browser *browser;
	struct buf text; /* scratch */
	bool only_significant;
};

/* --- the browser's source: a node is the index of a row --- */

static bool children(void *ctx, bool is_top, uint64_t node, struct tui_nodes *ret)
{
	const struct view *v = ctx;

	(void)node;
	for (size_t i = 0; is_top && v->lines && i < v->table->diff.nr_shown; i++) {
		if (v->only_significant && !v->table->diff.rows.data[i].is_significant)
			continue;
		if (!vec_push(ret, i))
			return false;
	}
	return true;
}

/* Without the blanks before the first number, which the browser's margin stands for. */
static void take_text(struct view *v, struct buf *out)
{
	size_t dim =
		v->text.nr && v->text.data[0] == '\033' ? strcspn(buf_cstr(&v->text), "m") + 1 : 0;
	const char *rest = v->text.data + dim;
	size_t size = v->text.nr - dim, skip = size >= GAP && !memcmp(rest, "  ", GAP) ? GAP : 0;

	buf_add(out, v->text.data, dim);
	buf_add(out, rest + skip, size - skip);
	buf_clear(&v->text);
}

static void fit(struct view *v, size_t columns)
{
	if (v->columns != columns)
		diff_lines_set_columns(v->lines, columns ? columns + GAP : 0);
	v->columns = columns;
	buf_clear(&v->text);
}

static bool line(void *ctx, uint64_t node, size_t columns, struct buf *out)
{
	struct view *v = ctx;
	bool is_cut;

	fit(v, columns);
	is_cut = diff_lines_row(v->lines, node, &v->text);
	take_text(v, out);
	return is_cut;
}

static void titles(void *ctx, size_t columns, struct buf *out)
{
	struct view *v = ctx;

	if (!v->lines)
		return;
	fit(v, columns);
	diff_lines_titles(v->lines, &v->text);
	take_text(v, out);
}

static void name(void *ctx, uint64_t node, bool is_whole, struct buf *out)
{
	const struct view *v = ctx;
	const struct report_diff_row *row = &v->table->diff.rows.data[node];
	const struct report_sort *s = &v->in->diff->opts.sort;

	for (size_t i = 0; i < s->nr; i++) {
		if (!is_whole && report_sort_has(s, REPORT_SYM) && s->keys[i] != REPORT_SYM)
			continue;
		buf_str(out, is_whole && i ? "  " : "");
		buf_str(out, diff_row_text(v->table, row, i));
	}
}

static void head(void *ctx, size_t columns, struct buf *out)
{
	const struct view *v = ctx;

	(void)columns;
	for (uint32_t i = 0; i < v->in->diff->nr_inputs; i++) {
		buf_printf(out, " %c: ", (char)('A' + i));
		escape_str(out, path_name(v->in->inputs[i].path));
		buf_char(out, ' ');
	}
	if (v->table && v->table->events[0].name) {
		buf_str(out, " event '");
		escape_str(out, v->table->events[0].name);
		buf_char(out, '\'');
	}
	if (v->only_significant)
		buf_str(out, "  only significant");
	tui_browser_put_filter(v->browser, out);
}

static void nothing(void *ctx, struct buf *out)
{
	const struct view *v = ctx;

	if (v->table && v->table->diff.nr_shown)
		buf_str(out, "No row is left: Esc undoes a filter.\n");
	else
		buf_str(out, "No recording has samples to compare.\n");
	buf_char(out, '\n');
	buf_add(out, v->in->notes->data, v->in->notes->nr);
}

/* --- tables and keys --- */

static const struct diff_table *table_at(const struct view *v, size_t i)
{
	const struct diff_table *t = v->in->diff->tables.data[i];

	return diff_table_has_samples(v->in->diff, t) ? t : NULL;
}

/* The next table with samples after @p from, or before it; it may be the same one. */
static void choose_table(struct view *v, size_t from, bool is_before)
{
	size_t nr = v->in->diff->tables.nr, i = from;

	for (size_t k = 0; k < nr; k++) {
		i = tui_beside(i, nr, is_before);
		if (table_at(v, i)) {
			v->at = i;
			v->table = table_at(v, i);
			return;
		}
	}
}

static bool make(struct view *v)
{
	struct diff_text_opts opts = *v->in->text;

	diff_lines_free(v->lines);
	v->lines = NULL;
	v->columns = opts.columns = 0;
	opts.is_colored = true; /* the screen knows whether it has colours */
	opts.cut_mark = cli_cut_mark();
	return !v->table ||
	       diff_lines_new(&v->lines, v->in->diff, v->table, v->in->inputs, &opts) == CLEW_OK;
}

static void show_event(struct view *v, bool is_before)
{
	size_t before = v->at;

	choose_table(v, v->at, is_before);
	if (v->at == before)
		tui_browser_say(v->browser, "there is no other event");
	else if (!make(v))
		tui_browser_say(v->browser, "out of memory");
	tui_browser_refresh(v->browser);
}

static void info(struct view *v)
{
	clew_auto(buf_done) struct buf text = {0};

	buf_add(&text, v->in->notes->data, v->in->notes->nr);
	if (v->lines)
		diff_lines_head(v->lines, &text);
	tui_text(" Recordings and values", text.data, text.nr);
}

static void undo(struct view *v)
{
	if (*tui_browser_filter(v->browser)) {
		tui_browser_set_filter(v->browser, NULL);
	} else if (v->only_significant) {
		v->only_significant = false;
		tui_browser_refresh(v->browser);
	} else {
		tui_browser_say(v->browser, "nothing is filtered; q leaves");
	}
}

/* clang-format off */
static const struct tui_key_text keys[] = {
	{"s",             "only rows of which the difference is not noise, or all"},
	{"Esc Left",      "undo a filter"},
	{"Tab Shift+Tab", "next, previous event"},
	{"i Enter",       "the recordings, and what values are"},
	{"P",             "write the view to a file"},
	{"q Ctrl+C",      "leave the browser"},
	{NULL}
};
/* clang-format on */

/* @return false: leave. */
static bool take_key(struct view *v, int key)
{
	switch (key) {
	case 'q':
		return false;
	case 's':
		v->only_significant = !v->only_significant;
		tui_browser_refresh(v->browser);
		return true;
	case TUI_ESC:
	case TUI_LEFT:
		undo(v);
		return true;
	case TUI_TAB:
	case TUI_BACK_TAB:
		show_event(v, key == TUI_BACK_TAB);
		return true;
	case 'i':
	case TUI_ENTER:
		info(v);
		return true;
	case 'P':
		tui_file_write(v->browser, "clew-diff.txt");
		return true;
	default:
		tui_browser_say(v->browser, "no such key: h shows all");
		return true;
	}
}

static int browse(struct view *v)
{
	const struct tui_source source = {
		.ctx = v,
		.children = children,
		.line = line,
		.name = name,
		.head = head,
		.titles = titles,
		.nothing = nothing,
		.hints = "h help  / filter  s significant  i info  q back",
		.keys = keys,
		.rows = "rows",
	};
	int status = tui_open(tui_is_colored(!v->in->has_color));

	if (status != CLI_OK)
		return status;
	v->browser = tui_browser_new(&source);
	while (v->browser && take_key(v, tui_browser_run(v->browser, -1)))
		;
	tui_browser_free(v->browser);
	tui_close();
	return CLI_OK;
}

int tui_diff_browse(const struct tui_diff_input *in)
{
	struct view v = {.in = in};
	int status = CLI_FAILED;

	if (in->diff->tables.nr)
		choose_table(&v, in->diff->tables.nr - 1, false);
	if (make(&v))
		status = browse(&v);
	else
		cli_error("out of memory");
	diff_lines_free(v.lines);
	buf_done(&v.text);
	return status;
}
