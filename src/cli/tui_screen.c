/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define NCURSES_WIDECHAR 1
#include "cli/tui_screen.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

/* Common words that term.h makes macros. */
#undef columns
#undef lines

#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/tui.h"
#include "os/file.h"
#include "os/terminal.h"

enum { RED = 1, GREEN, ESC_DELAY_MS = 25, LEAVE_MS = 100, MAX_COPY = 64 << 10 };

/* A process has one terminal. */
static struct {
	SCREEN *screen; /* NULL: not open */
	bool is_colored, is_utf8;
	tui_draw *background;
	void *background_ctx;
	tui_leave *must_leave;
	void *leave_ctx;
} tui;

/* --- open and close --- */

int tui_check(const char *option)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		cli_error("%s needs a terminal, and standard output is none", option);
	else if (!isatty(STDIN_FILENO))
		cli_error("%s reads keys from the terminal, and standard input is none", option);
	else if (!term || !*term || !strcmp(term, "dumb"))
		cli_error("%s needs a terminal that can move its cursor: TERM is '%s'", option,
			  term ? term : "");
	else
		return CLI_OK;
	return CLI_USAGE;
}

bool tui_is_colored(bool is_off)
{
	const char *no_color = getenv("NO_COLOR");

	return !is_off && (!no_color || !*no_color);
}

/* A capability without its delays, "$<5>". */
static void add_capability(struct buf *out, const char *name)
{
	const char *s = tigetstr(name);

	while (s && s != (char *)-1 && *s) {
		const char *end = !strncmp(s, "$<", 2) ? strchr(s, '>') : NULL;

		if (!end)
			buf_char(out, *s);
		s = end ? end + 1 : s + 1;
	}
}

/* Before curses, which leaves signals alone that someone handles. */
static bool guard(void)
{
	static const char *const leave[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
	clew_auto(buf_done) struct buf bytes = {0};
	int err;

	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return false;
	for (size_t i = 0; i < sizeof(leave) / sizeof(*leave); i++)
		add_capability(&bytes, leave[i]);
	del_curterm(cur_term); /* newterm() makes its own */
	return !bytes.is_failed && !os_terminal_guard(STDOUT_FILENO, bytes.data, bytes.nr);
}

static void set_modes(void)
{
	raw(); /* Ctrl-C is a key */
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(ESC_DELAY_MS);
	curs_set(0);
	if (!tui.is_colored || !has_colors()) {
		tui.is_colored = false;
		return;
	}
	start_color();
	use_default_colors();
	init_pair(RED, COLOR_RED, -1);
	init_pair(GREEN, COLOR_GREEN, -1);
}

int tui_open(bool is_colored)
{
	const char *term = getenv("TERM");

	cli_progress_end();
	setlocale(LC_CTYPE, "");
	tui.is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	tui.is_colored = is_colored;
	if (guard())
		tui.screen = newterm(NULL, stdout, stdin);
	if (!tui.screen) {
		os_terminal_unguard();
		cli_error("the terminal cannot be used: nothing is known about TERM '%s'",
			  term ? term : "");
		return CLI_USAGE;
	}
	set_modes();
	return CLI_OK;
}

void tui_close(void)
{
	if (!tui.screen)
		return;
	endwin();
	os_terminal_unguard();
	delscreen(tui.screen);
	tui.screen = NULL;
	tui.background = NULL;
}

size_t tui_columns(void)
{
	return COLS > 0 ? (size_t)COLS : 0;
}

size_t tui_lines(void)
{
	return LINES > 0 ? (size_t)LINES : 0;
}

/* --- text --- */

static attr_t attr_of(enum tui_look look)
{
	static const attr_t attrs[] = {[TUI_PLAIN] = A_NORMAL,
				       [TUI_REVERSE] = A_REVERSE,
				       [TUI_BOLD] = A_BOLD,
				       [TUI_DIM] = A_DIM};

	return attrs[look];
}

/* The attribute of one of our colours' sequences, and its bytes; 0: it is none. */
static size_t colour_at(const char *s, size_t size, attr_t base, attr_t *ret)
{
	static const struct {
		const char *text;
		attr_t attr;
		short pair;
	} all[] = {
		{"\033[m",   0,      0    },
                {"\033[31m", 0,      RED  },
                {"\033[32m", 0,      GREEN},
		{"\033[2m",  A_DIM,  0    },
                {"\033[1m",  A_BOLD, 0    },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		size_t len = strlen(all[i].text);

		if (size < len || memcmp(s, all[i].text, len) != 0)
			continue;
		*ret = base | all[i].attr;
		if (tui.is_colored)
			*ret |= (attr_t)COLOR_PAIR(all[i].pair);
		return len;
	}
	return 0;
}

/* The next character, as the terminal is to show it. @return its bytes. */
static size_t char_at(const char *s, size_t size, wchar_t *ret, size_t *ret_columns)
{
	size_t len = escape_printable((const uint8_t *)s, size);
	int columns;

	*ret = L'?';
	*ret_columns = 1;
	if (!len)
		return 1;
	if (len > 1 && !tui.is_utf8)
		return len;
	columns = wcwidth((wchar_t)escape_utf8_value((const uint8_t *)s, len));
	if (columns < 0)
		return len;
	*ret = (wchar_t)escape_utf8_value((const uint8_t *)s, len);
	*ret_columns = (size_t)columns;
	return len;
}

bool tui_put(size_t y, size_t x, size_t columns, const char *text, size_t size, enum tui_look look)
{
	attr_t base = attr_of(look), attr = base;
	size_t at = 0, used = 0;

	if (y >= tui_lines() || x >= tui_columns())
		return false;
	columns = columns < tui_columns() - x ? columns : tui_columns() - x;
	attrset((int)base);
	mvhline((int)y, (int)x, ' ' | base, (int)columns);
	move((int)y, (int)x);
	while (at < size) {
		size_t wide, len = colour_at(text + at, size - at, base, &attr);
		wchar_t c;

		if (len) {
			attrset((int)attr);
			at += len;
			continue;
		}
		len = char_at(text + at, size - at, &c, &wide);
		if (used + wide > columns)
			break;
		addnwstr(&c, 1);
		used += wide;
		at += len;
	}
	attrset(A_NORMAL);
	return at == size;
}

size_t tui_text_columns(const char *text, size_t size)
{
	size_t columns = 0;

	for (size_t at = 0, wide; at < size; columns += wide) {
		attr_t ignored;
		size_t len = colour_at(text + at, size - at, 0, &ignored);
		wchar_t c;

		wide = 0;
		at += len ? len : char_at(text + at, size - at, &c, &wide);
	}
	return columns;
}

void tui_add_plain(struct buf *out, const char *text, size_t size)
{
	while (size) {
		const char *colour = memchr(text, '\033', size);
		size_t plain = colour ? (size_t)(colour - text) : size;
		attr_t ignored;

		buf_add(out, text, plain);
		plain += colour ? colour_at(colour, size - plain, 0, &ignored) : 0;
		plain += !plain; /* no colour of ours */
		text += plain;
		size -= plain;
	}
}

void tui_erase(void)
{
	erase();
}

void tui_show(void)
{
	refresh();
}

void tui_show_cursor(size_t y, size_t x)
{
	move((int)y, (int)x);
	curs_set(1);
}

void tui_hide_cursor(void)
{
	curs_set(0);
}

void tui_pause(const char *what)
{
	size_t last = tui_lines() ? tui_lines() - 1 : 0;

	tui_put(last, 0, tui_columns(), what, strlen(what), TUI_PLAIN);
	move((int)last, 0);
	refresh();
	noraw();
	cbreak();
}

void tui_resume(void)
{
	cli_progress_end();
	raw();
	clearok(stdscr, TRUE);
}

/* --- keys --- */

static int special_key(wint_t key)
{
	static const struct {
		wint_t curses;
		int ours;
	} all[] = {
		{KEY_UP,        TUI_UP       },
                {KEY_DOWN,      TUI_DOWN     },
                {KEY_LEFT,      TUI_LEFT     },
		{KEY_RIGHT,     TUI_RIGHT    },
                {KEY_PPAGE,     TUI_PAGE_UP  },
                {KEY_NPAGE,     TUI_PAGE_DOWN},
		{KEY_HOME,      TUI_HOME     },
                {KEY_END,       TUI_END      },
                {KEY_BACKSPACE, TUI_BACKSPACE},
		{KEY_DC,        TUI_DELETE   },
                {KEY_BTAB,      TUI_BACK_TAB },
                {KEY_ENTER,     TUI_ENTER    },
		{KEY_F(1),      TUI_F1       },
                {KEY_RESIZE,    TUI_RESIZE   },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i].curses == key)
			return all[i].ours;
	}
	return TUI_OTHER;
}

static int suspend(void)
{
	os_terminal_suspend(); /* curses saves and restores the screen */
	return TUI_RESIZE;
}

void tui_set_leave(tui_leave *must_leave, void *ctx)
{
	tui.must_leave = must_leave;
	tui.leave_ctx = ctx;
}

int tui_key(int ms)
{
	bool is_polled = ms < 0 && tui.must_leave;
	wint_t key;
	int kind;

	timeout(is_polled ? LEAVE_MS : ms < 0 ? -1 : ms);
	do {
		if (tui.must_leave && tui.must_leave(tui.leave_ctx))
			return TUI_CTRL_C;
		kind = get_wch(&key);
	} while (is_polled && kind == ERR && isatty(STDIN_FILENO));
	if (kind == KEY_CODE_YES)
		return special_key(key);
	if (kind == ERR)
		return ms < 0 ? TUI_CTRL_C : TUI_TIMEOUT;
	switch (key) {
	case '\r':
		return TUI_ENTER;
	case '\t':
		return TUI_TAB;
	case '\b':
	case 0x7f:
		return TUI_BACKSPACE;
	case 0x1a: /* Ctrl-Z */
		return suspend();
	default:
		return (int)key;
	}
}

bool tui_is_small(void)
{
	return tui_columns() < TUI_MIN_COLUMNS || tui_lines() < TUI_MIN_LINES;
}

void tui_draw_small(void)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "too small: %dx%d needed", TUI_MIN_COLUMNS,
			 TUI_MIN_LINES);

	erase();
	tui_put(0, 0, tui_columns(), text, (size_t)n, TUI_PLAIN);
	refresh();
}

void tui_set_background(tui_draw *draw, void *ctx)
{
	tui.background = draw;
	tui.background_ctx = ctx;
}

void tui_draw_background(void)
{
	if (tui.background)
		tui.background(tui.background_ctx);
}

/* --- the clipboard --- */

void tui_copy(const char *text, size_t size)
{
	clew_auto(buf_done) struct buf out = {0};

	buf_str(&out, "\033]52;c;");
	buf_base64(&out, text, size < MAX_COPY ? size : MAX_COPY);
	buf_char(&out, '\a');
	if (!out.is_failed)
		os_write_all(STDOUT_FILENO, out.data, out.nr);
}
