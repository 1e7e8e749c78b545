/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/tui_annotate.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/search.h"
#include "cli/common/message.h"
#include "cli/tui.h"
#include "cli/tui_browser.h"
#include "cli/tui_file.h"

/** Where a jump or call was followed from. */
struct place {
	const struct ann_symbol *symbol;
	size_t at; /* of its annotations */
	uint32_t insn;
};

struct view {
	struct annotate *n;
	const struct ann_symbol *symbol;
	size_t at; /* of its annotations */
	struct annotation a;
	struct annotate_lines lines;
	struct tui_browser *browser;
	struct {
		VEC(struct place);
	} back;
};

/* --- the browser's source: a node is the index of a line --- */

static bool children(void *ctx, bool is_top, uint64_t node, struct tui_nodes *ret)
{
	const struct view *v = ctx;

	(void)node;
	for (size_t i = 0; is_top && i < v->lines.lines.nr; i++) {
		if (!vec_push(ret, i))
			return false;
	}
	return true;
}

static bool line(void *ctx, uint64_t node, size_t columns, struct buf *out)
{
	const struct view *v = ctx;
	const struct annotate_line *l = &v->lines.lines.data[node];

	(void)columns;
	buf_add(out, v->lines.text.data + l->from, l->bytes);
	return false;
}

static void name(void *ctx, uint64_t node, bool is_whole, struct buf *out)
{
	const struct view *v = ctx;
	const struct annotate_line *l = &v->lines.lines.data[node];

	(void)is_whole;
	tui_add_plain(out, v->lines.text.data + l->from, l->bytes);
}

static void head(void *ctx, size_t columns, struct buf *out)
{
	const struct view *v = ctx;
	const struct ann_column *c = v->a.columns.nr ? v->a.columns.data : NULL;

	(void)columns;
	buf_char(out, ' ');
	escape_str(out, v->a.symbol);
	buf_str(out, " in ");
	escape_str(out, v->a.dso);
	if (!c)
		return;
	buf_printf(out, ": %llu ", (unsigned long long)c->weight.nr);
	if (c->is_executed) {
		buf_str(out, "instructions executed");
		return;
	}
	buf_str(out, "samples of '");
	escape_str(out, c->name ? c->name : "?");
	buf_char(out, '\'');
	if (v->a.columns.nr > 1)
		buf_printf(out, " and %zu more", v->a.columns.nr - 1);
}

static void titles(void *ctx, size_t columns, struct buf *out)
{
	const struct view *v = ctx;

	(void)columns;
	if (v->lines.titles_bytes)
		buf_add(out, v->lines.text.data + v->lines.head_bytes, v->lines.titles_bytes - 1);
}

/* --- making it --- */

static const struct annotate_line *line_at(const struct view *v)
{
	uint64_t node;

	return tui_browser_at(v->browser, &node) ? &v->lines.lines.data[node] : NULL;
}

static const struct ann_insn *insn_at(const struct view *v)
{
	const struct annotate_line *l = line_at(v);

	return l && l->is_insn ? &v->a.insns.data[l->insn] : NULL;
}

static void go_to_insn(struct view *v, uint32_t insn)
{
	const struct annotate_line *l = v->lines.lines.data;

	tui_browser_go(v->browser,
		       search_first(v->lines.lines.nr, i,
				    l[i].insn > insn || (l[i].insn == insn && l[i].is_insn)));
}

static uint32_t hottest(const struct view *v)
{
	uint32_t best = 0;

	for (uint32_t i = 1; v->a.columns.nr && i < v->a.insns.nr; i++) {
		const struct ann_weight *w = annotation_weight(&v->a, i, 0);
		const struct ann_weight *b = annotation_weight(&v->a, best, 0);

		if (w->period > b->period || (w->period == b->period && w->nr > b->nr))
			best = i;
	}
	return best;
}

/* The lines of the annotation again, for other options. */
static bool make_lines(struct view *v)
{
	struct annotate_text_opts opts = v->n->text;

	opts.is_colored = true; /* the screen knows whether it has colours */
	annotate_lines_done(&v->lines);
	return annotate_lines_make(&v->lines, &v->a, &opts) == CLEW_OK;
}

/* @return false: memory is short, or there is no such annotation. */
static bool make(struct view *v, const struct ann_symbol *s, size_t at)
{
	struct annotate_columns c;

	if (!annotate_columns_at(v->n, s, at, &c))
		return false;
	annotation_done(&v->a);
	v->a = (struct annotation){0};
	v->symbol = s;
	v->at = at;
	return annotate_make(v->n, s, &c, &v->a) == CLEW_OK && make_lines(v);
}

static void show(struct view *v, const struct ann_symbol *s, size_t at)
{
	if (!make(v, s, at)) {
		tui_browser_say(v->browser, "out of memory");
		return;
	}
	tui_browser_refresh(v->browser);
	go_to_insn(v, hottest(v));
	if (v->a.why)
		tui_browser_say(v->browser, "its instructions are unknown: %s", v->a.why);
}

/* --- keys --- */

static void follow(struct view *v)
{
	const struct annotate_line *l = line_at(v);
	const struct ann_insn *n = insn_at(v);
	struct place from = {v->symbol, v->at, l ? l->insn : 0};
	const struct ann_symbol *s;

	if (!n || (n->target == ANN_NONE && !n->callee)) {
		tui_browser_say(v->browser, "this line has no jump or call with a known target");
		return;
	}
	if (n->target != ANN_NONE) {
		if (vec_push(&v->back, from))
			go_to_insn(v, n->target);
		return;
	}
	s = tui_annotate_find(v->n, n->callee, v->a.dso);
	if (!s)
		tui_browser_say(v->browser, "no samples in '%s'", n->callee);
	else if (vec_push(&v->back, from))
		show(v, s, 0);
}

/* @return false: nothing was followed. */
static bool go_back(struct view *v)
{
	struct place to;

	if (!v->back.nr)
		return false;
	to = v->back.data[--v->back.nr];
	if (to.symbol != v->symbol)
		show(v, to.symbol, to.at);
	go_to_insn(v, to.insn);
	return true;
}

static void show_other(struct view *v, bool is_before)
{
	const struct ann_symbol *all = v->n->counts.symbols.data, *s = v->symbol;
	size_t nr = v->n->counts.symbols.nr, i = (size_t)(s - all);

	do
		i = tui_beside(i, nr, is_before);
	while (!all[i].nr_cells);
	v->back.nr = 0;
	if (&all[i] == s)
		tui_browser_say(v->browser, "no other function has samples");
	else
		show(v, &all[i], 0);
}

static void show_event(struct view *v, bool is_before)
{
	struct annotate_columns c;
	size_t nr = 0;

	while (annotate_columns_at(v->n, v->symbol, nr, &c))
		nr++;
	if (nr < 2)
		tui_browser_say(v->browser, "it has samples of no other event");
	else
		show(v, v->symbol, tui_beside(v->at, nr, is_before));
}

static void toggle_source(struct view *v)
{
	const struct annotate_line *l = line_at(v);
	uint32_t insn = l ? l->insn : 0;

	v->n->text.no_source = !v->n->text.no_source;
	if (!make_lines(v))
		tui_browser_say(v->browser, "out of memory");
	tui_browser_refresh(v->browser);
	go_to_insn(v, insn);
}

static void toggle_counts(struct view *v)
{
	v->n->text.has_counts = !v->n->text.has_counts;
	if (!make_lines(v))
		tui_browser_say(v->browser, "out of memory");
	tui_browser_refresh(v->browser);
}

static void info(struct view *v)
{
	clew_auto(buf_done) struct buf text = {0};

	if (v->n->notes)
		buf_add(&text, v->n->notes->data, v->n->notes->nr);
	buf_add(&text, v->lines.text.data, v->lines.head_bytes);
	tui_text(" Notes", text.data, text.nr);
}

/* clang-format off */
static const struct tui_key_text keys[] = {
	{"Enter Right",   "follow a jump, or a call into its function"},
	{"Esc Left",      "back to where it was followed from"},
	{"< >",           "the function with more, with fewer samples"},
	{"*",             "the instruction with most samples"},
	{"Tab Shift+Tab", "next, previous event"},
	{"s",             "source: on or off"},
	{"t",             "samples in place of percent"},
	{"i",             "notes on the function"},
	{"P",             "write the view to a file"},
	{"q Ctrl+C",      "back; at the top: leave"},
	{NULL}
};
/* clang-format on */

/* @return false: leave. */
static bool take_key(struct view *v, int key)
{
	switch (key) {
	case 'q':
		return false;
	case TUI_ESC:
	case TUI_LEFT:
		return go_back(v);
	case TUI_ENTER:
	case TUI_RIGHT:
		follow(v);
		return true;
	case '<':
	case '>':
		show_other(v, key == '<');
		return true;
	case '*':
		go_to_insn(v, hottest(v));
		return true;
	case TUI_TAB:
	case TUI_BACK_TAB:
		show_event(v, key == TUI_BACK_TAB);
		return true;
	case 's':
		toggle_source(v);
		return true;
	case 't':
		toggle_counts(v);
		return true;
	case 'i':
		info(v);
		return true;
	case 'P':
		tui_file_write(v->browser, "clew-annotate.txt");
		return true;
	default:
		tui_browser_say(v->browser, "no such key: h shows all");
		return true;
	}
}

/* --- life --- */

const struct ann_symbol *tui_annotate_find(const struct annotate *n, const char *wanted,
					   const char *dso)
{
	const struct ann_symbol *other = NULL;

	vec_for_each (&n->counts.symbols, s) {
		if (!s->nr_cells || strcmp(s->sym->name, wanted) != 0)
			continue;
		if (!strcmp(dso_short_name(s->dso), dso) || !strcmp(dso_path(s->dso), dso))
			return s;
		other = other ? other : s;
	}
	return other;
}

void tui_annotate_show(struct annotate *n, const struct ann_symbol *s)
{
	struct view v = {.n = n};
	const struct tui_source source = {
		.ctx = &v,
		.children = children,
		.line = line,
		.name = name,
		.head = head,
		.titles = titles,
		.hints = "h help  Enter follow  / find  < > function  q back",
		.keys = keys,
		.rows = "lines",
		.is_text = true,
	};

	v.browser = tui_browser_new(&source);
	if (v.browser) {
		show(&v, s, 0);
		while (take_key(&v, tui_browser_run(v.browser, -1)))
			;
	}
	tui_browser_free(v.browser);
	annotate_lines_done(&v.lines);
	annotation_done(&v.a);
	vec_done(&v.back);
}

int tui_annotate_browse(struct annotate *n)
{
	const struct ann_symbol *s = n->counts.symbols.data;
	int status = tui_open(tui_is_colored(!n->has_color));

	if (status != CLI_OK)
		return status;
	while (!s->is_wanted || !s->nr_cells)
		s++; /* annotate_open() has seen one */
	tui_annotate_show(n, s);
	tui_close();
	return CLI_OK;
}
