/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/tui_browser.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/map_u64.h"

enum { INDENT = 3, FIRST_INDENT = 2, SIGN = 2 /* "+ " */ };

struct row {
	uint64_t node, identity; /* identity: with those of the rows above it */
	uint32_t depth;
	bool opens, is_open;
};

struct rows {
	VEC(struct row);
};

struct tui_browser {
	struct tui_source s;
	struct rows rows;
	struct tui_nodes nodes; /* of one children() */
	size_t nr_top, nr_kept; /* first-level rows, and those that the filter keeps */
	size_t at, first;       /* the cursor, and the first row seen */
	struct map_u64 open;    /* identities of open rows */
	struct buf filter, found, line, name, message;
	bool no_titles;
};

/* --- rows --- */

static uint64_t identity_of(const struct tui_browser *b, uint64_t above, uint64_t node)
{
	return hash_two(above, b->s.identity ? b->s.identity(b->s.ctx, node) : node);
}

static bool is_open(const struct tui_browser *b, const struct row *r)
{
	return r->opens && map_u64_get(&b->open, r->identity) != NULL;
}

static bool matches(struct tui_browser *b, uint64_t node, const struct buf *wanted)
{
	buf_clear(&b->name);
	b->s.name(b->s.ctx, node, false, &b->name);
	return b->name.nr >= wanted->nr &&
	       memmem(b->name.data, b->name.nr, wanted->data, wanted->nr) != NULL;
}

static struct row make_row(const struct tui_browser *b, uint64_t node, uint32_t depth,
			   uint64_t above)
{
	struct row r = {.node = node, .identity = identity_of(b, above, node), .depth = depth};

	r.opens = b->s.opens && b->s.opens(b->s.ctx, node);
	return r;
}

/* Onto the stack of rows to come, the first one on top. */
static void push_nodes(struct tui_browser *b, struct rows *pending, uint32_t depth, uint64_t above)
{
	for (size_t i = b->nodes.nr; i-- > 0;) {
		if (!vec_push(pending, make_row(b, b->nodes.data[i], depth, above)))
			return;
	}
}

static void push_children(struct tui_browser *b, struct rows *pending, const struct row *r)
{
	b->nodes.nr = 0;
	if (b->s.children(b->s.ctx, false, r->node, &b->nodes))
		push_nodes(b, pending, r->depth + 1, r->identity);
}

/* The stack's rows, and what is open below them, in their order. @p opens_all: opens them. */
static void lay_out(struct tui_browser *b, struct rows *pending, struct rows *ret, bool opens_all)
{
	while (pending->nr) {
		struct row r = pending->data[--pending->nr];

		if (opens_all && r.opens)
			map_u64_put(&b->open, r.identity, 1);
		r.is_open = is_open(b, &r);
		if (!vec_push(ret, r))
			return;
		if (r.is_open)
			push_children(b, pending, &r);
	}
}

/* Where the rows below row @p i end. */
static size_t end_below(const struct tui_browser *b, size_t i)
{
	size_t end = i + 1;

	while (end < b->rows.nr && b->rows.data[end].depth > b->rows.data[i].depth)
		end++;
	return end;
}

/* Replace the rows [from, to). */
static void splice(struct tui_browser *b, size_t from, size_t to, const struct rows *by)
{
	size_t after = b->rows.nr - to;

	if (!vec_reserve(&b->rows, from + by->nr + after))
		return;
	if (after)
		memmove(b->rows.data + from + by->nr, b->rows.data + to,
			after * sizeof(struct row));
	if (by->nr)
		memcpy(b->rows.data + from, by->data, by->nr * sizeof(struct row));
	b->rows.nr = from + by->nr + after;
}

/* Lay out row @p i again, after the set of open ones changed. */
static void lay_out_row(struct tui_browser *b, size_t i, bool opens_all)
{
	struct rows pending = {0}, now = {0};

	if (vec_push(&pending, b->rows.data[i]))
		lay_out(b, &pending, &now, opens_all);
	if (now.nr)
		splice(b, i, end_below(b, i), &now);
	vec_done(&pending);
	vec_done(&now);
}

static void filter_nodes(struct tui_browser *b)
{
	size_t nr = 0;

	b->nr_top = b->nodes.nr;
	for (size_t i = 0; b->filter.nr && i < b->nodes.nr; i++) {
		if (matches(b, b->nodes.data[i], &b->filter))
			b->nodes.data[nr++] = b->nodes.data[i];
	}
	if (b->filter.nr)
		b->nodes.nr = nr;
	b->nr_kept = b->nodes.nr;
	if (b->s.kept)
		b->s.kept(b->s.ctx, &b->nodes);
}

static void lay_out_all(struct tui_browser *b, bool opens_all)
{
	struct rows pending = {0};
	uint64_t identity = b->at < b->rows.nr ? b->rows.data[b->at].identity : 0;

	b->nodes.nr = b->rows.nr = 0;
	if (b->s.children(b->s.ctx, true, 0, &b->nodes)) {
		filter_nodes(b);
		push_nodes(b, &pending, 0, 0);
		lay_out(b, &pending, &b->rows, opens_all);
	}
	vec_done(&pending);
	for (size_t i = 0; i < b->rows.nr; i++) {
		if (b->rows.data[i].identity == identity) {
			b->at = i;
			return;
		}
	}
	b->at = b->at < b->rows.nr ? b->at : b->rows.nr ? b->rows.nr - 1 : 0;
}

void tui_browser_refresh(struct tui_browser *b)
{
	lay_out_all(b, false);
}

/* --- drawing --- */

static size_t nr_seen(const struct tui_browser *b)
{
	size_t bars = 1u + (b->s.head != NULL) + (b->s.titles && !b->no_titles);

	return tui_lines() > bars ? tui_lines() - bars : 1;
}

static size_t indent_of(const struct tui_browser *b, const struct row *r)
{
	if (b->s.is_text)
		return 0;
	return SIGN + (r->depth ? FIRST_INDENT + (size_t)(r->depth - 1) * INDENT : 0);
}

/* The row into b->line. @return whether it is cut. */
static bool make_line(struct tui_browser *b, const struct row *r, size_t columns)
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
		buf_clear(&b->name);
		b->s.name(b->s.ctx, b->rows.data[b->at].node, true, &b->name);
		escape_add(&b->line, b->name.data, b->name.nr);
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

static void put_keys(struct buf *out, const struct tui_key_text *keys)
{
	for (; keys && keys->keys; keys++) {
		buf_field(out, keys->keys, -20);
		buf_printf(out, " %s\n", keys->does);
	}
}

static void help(struct tui_browser *b)
{
	clew_auto(buf_done) struct buf text = {0};

	put_keys(&text, b->s.keys);
	put_keys(&text, b->s.opens ? keys_of_trees : NULL);
	put_keys(&text, keys_of_all);
	buf_printf(&text, "%-20s %s\n", "/",
		   b->s.is_text ? "find a text" : "only rows with a text in their name, as typed");
	tui_text(" Keys", text.data, text.nr);
}

void tui_browser_toggle(struct tui_browser *b)
{
	struct row *r = b->at < b->rows.nr ? &b->rows.data[b->at] : NULL;

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
	lay_out_row(b, b->at, false);
}

/* 'e': where all is open below, close all. */
static void toggle_all_below(struct tui_browser *b)
{
	size_t end, nr_closed = 0;

	if (b->at >= b->rows.nr || !b->rows.data[b->at].opens)
		return;
	end = end_below(b, b->at);
	for (size_t i = b->at; i < end; i++)
		nr_closed += b->rows.data[i].opens && !b->rows.data[i].is_open;
	for (size_t i = b->at; i < end && !nr_closed; i++)
		map_u64_remove(&b->open, b->rows.data[i].identity);
	lay_out_row(b, b->at, nr_closed != 0);
}

static void close_all(struct tui_browser *b)
{
	uint64_t top;
	bool has_top = tui_browser_top_at(b, &top);

	map_u64_done(&b->open);
	lay_out_all(b, false);
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

		if (matches(b, b->rows.data[k].node, &b->found)) {
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

	switch (key) {
	case '+':
		tui_browser_toggle(b);
		return true;
	case 'e':
		toggle_all_below(b);
		return true;
	case 'E':
		lay_out_all(b, true);
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
	lay_out_all(b, false);
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
	lay_out_all(b, false);
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
