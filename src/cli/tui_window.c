/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/tui_window.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/text_columns.h"
#include "base/vec.h"

enum { BORDER = 2, MAX_CHAR = 4, MAX_TYPED = 4096, NO_KEY = 0 };

static bool leaves(int key)
{
	return key == TUI_ESC || key == 'q' || key == TUI_CTRL_C;
}

size_t tui_moved(size_t at, size_t nr, size_t page, int key)
{
	size_t last = nr ? nr - 1 : 0;

	switch (key) {
	case TUI_UP:
		return at ? at - 1 : 0;
	case TUI_DOWN:
		return at < last ? at + 1 : last;
	case TUI_PAGE_UP:
		return at > page ? at - page : 0;
	case TUI_PAGE_DOWN:
	case ' ':
		return last - at > page ? at + page : last;
	case TUI_HOME:
		return 0;
	case TUI_END:
		return last;
	default:
		return at;
	}
}

size_t tui_beside(size_t at, size_t nr, bool is_before)
{
	return is_before ? (at ? at : nr) - 1 : at + 1 < nr ? at + 1 : 0;
}

/* --- menus --- */

struct menu {
	const char *title;
	const struct tui_item *items;
	size_t nr, at, first;
};

static size_t menu_width(const struct menu *m)
{
	size_t width = tui_text_columns(m->title, strlen(m->title));

	for (size_t i = 0; i < m->nr; i++) {
		size_t columns = tui_text_columns(m->items[i].text, strlen(m->items[i].text));

		width = columns + 3 > width ? columns + 3 : width;
	}
	width += 2 * BORDER;
	return width < tui_columns() ? width : tui_columns();
}

static void put_edge(size_t y, size_t x, size_t width, const char *title)
{
	clew_auto(buf_done) struct buf line = {0};
	size_t used;

	buf_str(&line, "+-");
	if (*title)
		buf_printf(&line, " %s ", title);
	used = tui_text_columns(line.data, line.nr);
	if (used + 1 < width)
		buf_fill(&line, '-', width - used - 1);
	buf_char(&line, '+');
	tui_put(y, x, width, line.data, line.nr, TUI_PLAIN);
}

static void put_item(const struct menu *m, size_t i, size_t y, size_t x, size_t width)
{
	clew_auto(buf_done) struct buf line = {0};
	const struct tui_item *item = &m->items[i];

	buf_printf(&line, " %c %s", item->key ? item->key : ' ', item->text);
	tui_put(y, x, 1, "|", 1, TUI_PLAIN);
	tui_put(y, x + 1, width - 2, line.data, line.nr, i == m->at ? TUI_REVERSE : TUI_PLAIN);
	tui_put(y, x + width - 1, 1, "|", 1, TUI_PLAIN);
}

/* @return items seen at once. */
static size_t draw_menu(struct menu *m)
{
	size_t width = menu_width(m), room = tui_lines() > 3 ? tui_lines() - 3 : 1;
	size_t seen = m->nr < room ? m->nr : room;
	size_t x = (tui_columns() - width) / 2, y = (tui_lines() - seen - 2) / 2;

	m->first = m->at < m->first         ? m->at
		 : m->at >= m->first + seen ? m->at - seen + 1
					    : m->first;
	tui_draw_background();
	put_edge(y, x, width, m->title);
	for (size_t i = 0; i < seen; i++)
		put_item(m, m->first + i, y + 1 + i, x, width);
	put_edge(y + 1 + seen, x, width, "");
	tui_show();
	return seen;
}

static int item_of_key(const struct menu *m, int key)
{
	for (size_t i = 0; i < m->nr; i++) {
		if (m->items[i].key && m->items[i].key == key)
			return (int)i;
	}
	return -1;
}

int tui_menu(const char *title, const struct tui_item *items, int nr, int at)
{
	struct menu m = {title, items, (size_t)nr, (size_t)at, 0};

	for (;;) {
		size_t page = 1;
		int key, chosen;

		if (tui_is_small())
			tui_draw_small();
		else
			page = draw_menu(&m);
		key = tui_key(-1);
		chosen = item_of_key(&m, key);
		if (chosen >= 0)
			return chosen;
		if (key == TUI_ENTER || key == TUI_RIGHT)
			return (int)m.at;
		if (leaves(key) || key == TUI_LEFT)
			return -1;
		m.at = tui_moved(m.at, m.nr, page, key);
	}
}

/* --- texts --- */

struct pages {
	const char *title;
	struct buf folded;
	struct {
		VEC(size_t);
	} lines; /* offsets in folded */
	size_t columns, first;
};

static void fold(struct pages *p, const char *text, size_t size)
{
	buf_clear(&p->folded);
	p->lines.nr = 0;
	buf_add(&p->folded, text, size);
	p->columns = tui_columns();
	text_fold(&p->folded, 0, p->columns);
	for (size_t at = 0; at < p->folded.nr;) {
		const char *end = memchr(p->folded.data + at, '\n', p->folded.nr - at);

		if (!vec_push(&p->lines, at))
			return;
		at = end ? (size_t)(end - p->folded.data) + 1 : p->folded.nr;
	}
}

static void put_text_line(const struct pages *p, size_t line, size_t y)
{
	size_t from = p->lines.data[line];
	size_t end = line + 1 < p->lines.nr ? p->lines.data[line + 1] : p->folded.nr;

	if (end > from && p->folded.data[end - 1] == '\n')
		end--;
	tui_put(y, 0, p->columns, p->folded.data + from, end - from, TUI_PLAIN);
}

static void draw_text(const struct pages *p, size_t seen)
{
	char place[64];
	size_t last = p->first + seen < p->lines.nr ? p->first + seen : p->lines.nr;
	int n = snprintf(place, sizeof(place), "q back   line %zu-%zu of %zu",
			 p->lines.nr ? p->first + 1 : 0, last, p->lines.nr);

	tui_erase();
	tui_put(0, 0, p->columns, p->title, strlen(p->title), TUI_REVERSE);
	for (size_t i = p->first; i < last; i++)
		put_text_line(p, i, 1 + i - p->first);
	tui_put(tui_lines() - 1, 0, p->columns, place, (size_t)n, TUI_REVERSE);
	tui_show();
}

void tui_text(const char *title, const char *text, size_t size)
{
	struct pages p = {.title = title};
	int key = NO_KEY;

	while (!leaves(key) && key != TUI_ENTER && key != TUI_LEFT) {
		size_t seen = tui_lines() > 2 ? tui_lines() - 2 : 1;
		size_t last;

		if (p.columns != tui_columns())
			fold(&p, text, size);
		last = p.lines.nr > seen ? p.lines.nr - seen : 0;
		p.first = key == TUI_END ? last : tui_moved(p.first, last + 1, seen, key);
		p.first = p.first < last ? p.first : last;
		if (tui_is_small())
			tui_draw_small();
		else
			draw_text(&p, seen);
		key = tui_key(-1);
	}
	buf_done(&p.folded);
	vec_done(&p.lines);
}

/* --- typing --- */

/* Shown from its end, where it is longer than the line. */
static void draw_typed(const char *prompt, const struct buf *text)
{
	clew_auto(buf_done) struct buf line = {0};
	size_t skip = 0, room = tui_columns() - 1, y = tui_lines() - 1;

	buf_printf(&line, " %s", prompt);
	escape_add(&line, text->data, text->nr);
	while (tui_text_columns(line.data + skip, line.nr - skip) > room)
		skip += escape_printable((const uint8_t *)line.data + skip, line.nr - skip);
	tui_draw_background();
	tui_put(y, 0, tui_columns(), line.data + skip, line.nr - skip, TUI_REVERSE);
	tui_show_cursor(y, tui_text_columns(line.data + skip, line.nr - skip));
	tui_show();
}

static void add_char(struct buf *text, uint32_t c)
{
	char utf8[MAX_CHAR];
	size_t n = 0;

	if (c < 0x80) {
		utf8[n++] = (char)c;
	} else if (c < 0x800) {
		utf8[n++] = (char)(0xc0 | c >> 6);
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		utf8[n++] = (char)(0xe0 | c >> 12);
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		utf8[n++] = (char)(0xf0 | c >> 18);
		utf8[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	}
	if (text->nr + n <= MAX_TYPED && escape_printable((const uint8_t *)utf8, n) == n)
		buf_add(text, utf8, n);
}

static void drop_char(struct buf *text)
{
	while (text->nr && ((uint8_t)text->data[text->nr - 1] & 0xc0) == 0x80)
		text->nr--;
	text->nr -= text->nr != 0;
}

/* @return whether the text changed. */
static bool type(struct buf *text, int key)
{
	size_t before = text->nr;

	if (key == TUI_BACKSPACE)
		drop_char(text);
	else if (key == 0x15) /* Ctrl-U */
		buf_clear(text);
	else if (key >= ' ' && key < TUI_UP)
		add_char(text, (uint32_t)key);
	return text->nr != before;
}

bool tui_ask(const char *prompt, struct buf *text, tui_typed *typed, void *ctx)
{
	clew_auto(buf_done) struct buf before = {0};
	int key;

	buf_add(&before, text->data, text->nr);
	do {
		if (tui_is_small())
			tui_draw_small();
		else
			draw_typed(prompt, text);
		key = tui_key(-1);
		if (type(text, key) && typed)
			typed(ctx, buf_cstr(text));
	} while (key != TUI_ENTER && key != TUI_ESC && key != TUI_CTRL_C);
	tui_hide_cursor();
	if (key == TUI_ENTER)
		return true;
	buf_clear(text);
	buf_add(text, before.data, before.nr);
	if (typed)
		typed(ctx, buf_cstr(text));
	return false;
}
