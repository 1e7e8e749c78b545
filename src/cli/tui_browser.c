/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/tui_browser_impl.h"

enum { INDENT = 3, FIRST_INDENT = 2, SIGN = 2 /* "+ " */ };

/* --- drawing --- */

static size_t nr_seen(const struct tui_browser *b)
{
	size_t bars = 1u + (b->s.head != NULL) + (b->s.titles && !b->no_titles);

	return tui_lines() > bars ? tui_lines() - bars : 1;
}

static size_t indent_of(const struct tui_browser *b, const struct tui_row *r)
{
	if (b->s.is_text)
		return 0;
	return SIGN + (r->depth ? FIRST_INDENT + (size_t)(r->depth - 1) * INDENT : 0);
}

/* The row into b->line. @return whether it is cut. */
static bool make_line(struct tui_browser *b, const struct tui_row *r, size_t columns)
{
	size_t indent = indent_of(b, r), room = columns > indent ? columns - indent : 1;

	buf_clear(&b->line);
	if (indent) {
		buf_fill(&b->line, ' ', indent - SIGN);
		buf_str(&b->line, !r->opens ? "  " : r->is_open ? "- " : "+ ");
	}
	return b->s.line(b->s.ctx, r->node, columns ? room : 0, &b->line);
}

static size_t put_bar(struct tui_browser *b, size_t y, enum tui_look look,
		      void (*text)(void *, size_t, struct buf *), size_t indent)
{
	buf_clear(&b->line);
	buf_fill(&b->line, ' ', indent);
	text(b->s.ctx, tui_columns() - indent, &b->line);
	tui_put(y, 0, tui_columns(), b->line.data, b->line.nr, look);
	return y + 1;
}

/* All of the row if it fits, else what is filtered by. */
static void put_name(struct tui_browser *b, size_t columns)
{
	size_t from = b->line.nr;

	for (int is_whole = 1; is_whole >= 0; is_whole--) {
		buf_clear(&b->name);
		b->s.name(b->s.ctx, b->rows.data[b->at].node, is_whole, &b->name);
		b->line.nr = from;
		escape_add(&b->line, b->name.data, b->name.nr);
		if (tui_text_columns(b->line.data + from, b->line.nr - from) <= columns)
			return;
	}
}

/* The last line: a message, else the whole name of a row that is cut, else hints; and where. */
static void put_status(struct tui_browser *b, bool is_cut)
{
	clew_auto(buf_done) struct buf place = {0};
	size_t y = tui_lines() - 1, columns = tui_columns(), used;

	if (b->s.is_text)
		buf_printf(&place, " %zu of %zu %s ", b->rows.nr ? b->at + 1 : 0, b->rows.nr,
			   b->s.rows);
	else
		buf_printf(&place, " %zu of %zu %s ", b->nr_kept, b->nr_top, b->s.rows);
	used = tui_text_columns(place.data, place.nr);
	buf_clear(&b->line);
	buf_char(&b->line, ' ');
	if (b->message.nr) {
		buf_add(&b->line, b->message.data, b->message.nr);
	} else if (is_cut) {
		put_name(b, columns - 1);
	} else {
		buf_str(&b->line, b->s.hints);
	}
	tui_put(y, 0, columns, b->line.data, b->line.nr, TUI_REVERSE);
	if (tui_text_columns(b->line.data, b->line.nr) + used <= columns)
		tui_put(y, columns - used, used, place.data, place.nr, TUI_REVERSE);
}

static void put_nothing(struct tui_browser *b, size_t y)
{
	const char *at;

	if (!b->s.nothing || b->rows.nr)
		return;
	buf_clear(&b->line);
	b->s.nothing(b->s.ctx, &b->line);
	at = buf_cstr(&b->line);
	for (y++; *at && y + 1 < tui_lines(); y++) {
		size_t size = strcspn(at, "\n");

		tui_put(y, 2, tui_columns() - 2, at, size, TUI_PLAIN);
		at += size + (at[size] == '\n');
	}
}

static void scroll(struct tui_browser *b)
{
	size_t seen = nr_seen(b), last = b->rows.nr > seen ? b->rows.nr - seen : 0;

	if (b->at < b->first)
		b->first = b->at;
	if (b->at >= b->first + seen)
		b->first = b->at - seen + 1;
	b->first = b->first < last ? b->first : last;
}

static void draw(void *ctx)
{
	struct tui_browser *b = ctx;
	size_t y = 0, seen = nr_seen(b);
	bool is_cut = false;

	scroll(b);
	tui_erase();
	if (b->s.head)
		y = put_bar(b, y, TUI_REVERSE, b->s.head, 0);
	if (b->s.titles && !b->no_titles)
		y = put_bar(b, y, TUI_BOLD, b->s.titles, b->s.is_text ? 0 : SIGN);
	put_nothing(b, y);
	for (size_t i = b->first; i < b->rows.nr && i < b->first + seen; i++, y++) {
		bool is_at = i == b->at;
		bool cut = make_line(b, &b->rows.data[i], tui_columns());

		cut |= !tui_put(y, 0, tui_columns(), b->line.data, b->line.nr,
				is_at ? TUI_REVERSE : TUI_PLAIN);
		is_cut |= is_at && cut;
	}
	put_status(b, is_cut);
	tui_show();
}

/* --- keys --- */

/* clang-format off */
static const struct tui_key_text keys_of_trees[] = {
	{"+",                 "open or close the row"},
	{"e",                 "open or close all below the row"},
	{"E C",               "open all rows; close all"},
	{NULL}
}, keys_of_all[] = {
	{"Up Down PgUp PgDn", "move"},
	{"Space Home End",    "a page down; to the first, to the last row"},
	{"n N",               "next, previous row with the last text of /"},
	{"H",                 "column titles: on or off"},
	{"h ? F1",            "this help"},
	{NULL}
};
/* clang-format on */

/* Of the browser's own keys, is it one that the caller wants? */
static bool is_taken(const struct tui_browser *b, int key)
{
	return b->s.taken && key > 0 && key < 0x80 && strchr(b->s.taken, key);
}

static void put_keys(const struct tui_browser *b, struct buf *out, const struct tui_key_text *keys)
{
	bool is_own = keys != b->s.keys;

	for (; keys && keys->keys; keys++) {
		if (is_own && !keys->keys[1] && is_taken(b, keys->keys[0]))
			continue;
		buf_field(out, keys->keys, -20);
		buf_printf(out, " %s\n", keys->does);
	}
}

static void help(struct tui_browser *b)
{
	clew_auto(buf_done) struct buf text = {0};

	put_keys(b, &text, b->s.keys);
	put_keys(b, &text, b->s.opens ? keys_of_trees : NULL);
	put_keys(b, &text, keys_of_all);
	buf_printf(&text, "%-20s %s\n", "/",
		   b->s.is_text ? "find a text" : "only rows with a text in their name, as typed");
	tui_text(" Keys", text.data, text.nr);
}

void tui_browser_toggle(struct tui_browser *b)
{
	struct tui_row *r = b->at < b->rows.nr ? &b->rows.data[b->at] : NULL;

	if (r && !r->opens && b->s.closed) {
		buf_clear(&b->message);
		b->s.closed(b->s.ctx, r->node, &b->message);
	}
	if (!r || !r->opens)
		return;
	if (r->is_open)
		map_u64_remove(&b->open, r->identity);
	else
		map_u64_put(&b->open, r->identity, 1);
	tui_rows_lay_out_row(b, b->at, false);
}

/* 'e': where all is open below, close all. */
static void toggle_all_below(struct tui_browser *b)
{
	size_t end, nr_closed = 0;

	if (b->at >= b->rows.nr || !b->rows.data[b->at].opens)
		return;
	end = tui_rows_end_below(b, b->at);
	for (size_t i = b->at; i < end; i++)
		nr_closed += b->rows.data[i].opens && !b->rows.data[i].is_open;
	for (size_t i = b->at; i < end && !nr_closed; i++)
		map_u64_remove(&b->open, b->rows.data[i].identity);
	tui_rows_lay_out_row(b, b->at, nr_closed != 0);
}

static void close_all(struct tui_browser *b)
{
	uint64_t top;
	bool has_top = tui_browser_top_at(b, &top);

	map_u64_done(&b->open);
	tui_rows_lay_out(b, false);
	if (has_top)
		tui_browser_go(b, top);
}

static void find(struct tui_browser *b, bool is_backwards, bool is_from_here)
{
	size_t nr = b->rows.nr, at = b->at;

	if (!nr || !b->found.nr) {
		tui_browser_say(b, "nothing to find: / takes a text");
		return;
	}
	for (size_t i = is_from_here ? 0 : 1; i <= nr; i++) {
		size_t k = is_backwards ? (at + nr - i % nr) % nr : (at + i) % nr;

		if (tui_rows_match(b, b->rows.data[k].node, &b->found)) {
			b->at = k;
			return;
		}
	}
	buf_cstr(&b->found);
	tui_browser_say(b, "'%s' is in no row", b->found.data);
}

static void typed_filter(void *browser, const char *text)
{
	struct tui_browser *b = browser;

	tui_browser_set_filter(b, text);
	b->at = 0;
}

static void ask_filter(struct tui_browser *b)
{
	clew_auto(buf_done) struct buf text = {0};
	size_t before = b->at;

	if (b->s.is_text) {
		if (tui_ask("find: ", &text, NULL, NULL) && text.nr) {
			buf_clear(&b->found);
			buf_add(&b->found, text.data, text.nr);
			find(b, false, true);
		}
		return;
	}
	buf_add(&text, b->filter.data, b->filter.nr);
	if (!tui_ask("only names with: ", &text, typed_filter, b)) {
		b->at = before;
		return;
	}
	if (!b->filter.nr)
		return;
	buf_clear(&b->found);
	buf_add(&b->found, b->filter.data, b->filter.nr);
}

/* @return whether the key was the browser's. */
static bool take_key(struct tui_browser *b, int key)
{
	size_t before = b->at;

	if (is_taken(b, key))
		return false;

	switch (key) {
	case '+':
		tui_browser_toggle(b);
		return true;
	case 'e':
		toggle_all_below(b);
		return true;
	case 'E':
		tui_rows_lay_out(b, true);
		return true;
	case 'C':
		close_all(b);
		return true;
	case '/':
		ask_filter(b);
		return true;
	case 'n':
	case 'N':
		find(b, key == 'N', false);
		return true;
	case 'H':
		b->no_titles = !b->no_titles;
		return true;
	case 'h':
	case '?':
	case TUI_F1:
		help(b);
		return true;
	case TUI_RESIZE:
		return true;
	default:
		b->at = tui_moved(b->at, b->rows.nr, nr_seen(b), key);
		return b->at != before || key == TUI_UP || key == TUI_DOWN || key == ' ' ||
		       (key >= TUI_PAGE_UP && key <= TUI_END);
	}
}

int tui_browser_run(struct tui_browser *b, int ms)
{
	int key;

	tui_set_background(draw, b);
	do {
		if (tui_is_small())
			tui_draw_small();
		else
			draw(b);
		key = tui_key(ms);
		if (key != TUI_TIMEOUT && key != TUI_RESIZE)
			buf_clear(&b->message);
	} while (take_key(b, key));
	return key == TUI_CTRL_C ? 'q' : key;
}

/* --- for the caller --- */

void tui_browser_refresh(struct tui_browser *b)
{
	tui_rows_lay_out(b, false);
}

bool tui_browser_at(const struct tui_browser *b, uint64_t *ret)
{
	if (b->at >= b->rows.nr)
		return false;
	*ret = b->rows.data[b->at].node;
	return true;
}

bool tui_browser_top_at(const struct tui_browser *b, uint64_t *ret)
{
	size_t i = b->at;

	if (i >= b->rows.nr)
		return false;
	while (i && b->rows.data[i].depth)
		i--;
	*ret = b->rows.data[i].node;
	return true;
}

void tui_browser_go(struct tui_browser *b, uint64_t node)
{
	for (size_t i = 0; i < b->rows.nr; i++) {
		if (b->rows.data[i].node == node) {
			b->at = i;
			return;
		}
	}
}

bool tui_browser_is_open(const struct tui_browser *b)
{
	return b->at < b->rows.nr && b->rows.data[b->at].is_open;
}

const char *tui_browser_filter(struct tui_browser *b)
{
	return buf_cstr(&b->filter);
}

void tui_browser_set_filter(struct tui_browser *b, const char *text)
{
	buf_clear(&b->filter);
	buf_str(&b->filter, text ? text : "");
	tui_rows_lay_out(b, false);
}

void tui_browser_put_filter(struct tui_browser *b, struct buf *out)
{
	if (!b || !b->filter.nr)
		return;
	buf_str(out, "  filter: ");
	escape_add(out, b->filter.data, b->filter.nr);
}

void tui_browser_say(struct tui_browser *b, const char *format, ...)
{
	va_list args;

	buf_clear(&b->message);
	va_start(args, format);
	buf_vprintf(&b->message, format, args);
	va_end(args);
	escape_since(&b->message, 0);
}

void tui_browser_write(struct tui_browser *b, struct buf *out)
{
	if (b->s.titles) {
		buf_fill(out, ' ', b->s.is_text ? 0 : SIGN);
		b->s.titles(b->s.ctx, 0, out);
		buf_char(out, '\n');
	}
	vec_for_each (&b->rows, r) {
		make_line(b, r, 0);
		buf_add(out, b->line.data, b->line.nr);
		buf_char(out, '\n');
	}
}

struct tui_browser *tui_browser_new(const struct tui_source *s)
{
	struct tui_browser *b = mem_zalloc(sizeof(*b));

	if (!b)
		return NULL;
	b->s = *s;
	tui_rows_lay_out(b, false);
	return b;
}

void tui_browser_free(struct tui_browser *b)
{
	if (!b)
		return;
	vec_done(&b->rows);
	vec_done(&b->nodes);
	map_u64_done(&b->open);
	buf_done(&b->filter);
	buf_done(&b->found);
	buf_done(&b->line);
	buf_done(&b->name);
	buf_done(&b->message);
	mem_free(b);
}
