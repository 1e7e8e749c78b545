/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_SCREEN_H
#define CLI_TUI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * The terminal as a screen of lines, and its keys. One at a time; texts are as escape_add() leaves
 * them, with the colours that our writers put into text (ESC [ 31 m red, 32 green, 2 dim, ESC [ m
 * normal). curses stays in tui_screen.c.
 */

/** @return CLI_OK, or CLI_USAGE after a message. A signal that ends us restores the terminal. */
int tui_open(bool is_colored);
/** Fine without tui_open(). */
void tui_close(void);

/** For what takes long: @p what stands in the last line, where the line of progress comes, and
 * Ctrl-C ends us. */
void tui_pause(const char *what);
void tui_resume(void);

enum { TUI_MIN_COLUMNS = 40, TUI_MIN_LINES = 6 };

size_t tui_columns(void);
size_t tui_lines(void);

enum tui_look {
	TUI_PLAIN,
	TUI_REVERSE, /* bars, and the line of the cursor */
	TUI_BOLD,    /* titles */
	TUI_DIM,
};

/** One whole line of the screen, from column @p x on: what does not fit is omitted, the rest is
 * blank. @return whether all fit. */
bool tui_put(size_t y, size_t x, size_t columns, const char *text, size_t size, enum tui_look look);

/** Append @p text without its colours. */
void tui_add_plain(struct buf *out, const char *text, size_t size);

/** Empty, for drawing all of it again. */
void tui_erase(void);
/** What was put becomes visible. */
void tui_show(void);
/** Where the cursor is while text is typed. */
void tui_show_cursor(size_t y, size_t x);
void tui_hide_cursor(void);

/** Columns that the terminal takes for @p text, without its colours. */
size_t tui_text_columns(const char *text, size_t size);

/** Characters as themselves, and these. */
enum tui_key {
	TUI_TIMEOUT = -1, /* no key in time */
	TUI_CTRL_C = 3,
	TUI_ENTER = '\n',
	TUI_ESC = 27,
	TUI_UP = 0x200000, /* above all characters */
	TUI_DOWN,
	TUI_LEFT,
	TUI_RIGHT,
	TUI_PAGE_UP,
	TUI_PAGE_DOWN,
	TUI_HOME,
	TUI_END,
	TUI_BACKSPACE,
	TUI_DELETE,
	TUI_TAB,
	TUI_BACK_TAB,
	TUI_F1,
	TUI_RESIZE, /* draw again: the screen has another size, or was used by others */
	TUI_OTHER,
};

/** Wait for a key, at most @p ms; < 0: as long as it takes. Where the terminal is gone, or
 * tui_set_leave() says so: TUI_CTRL_C. */
int tui_key(int ms);

/** Is all that is open to be left? Asked before each key, and ten times a second while one is
 * waited for. NULL: never. Stays over tui_close(). */
typedef bool tui_leave(void *ctx);
void tui_set_leave(tui_leave *must_leave, void *ctx);

/** Is it smaller than TUI_MIN_COLUMNS and TUI_MIN_LINES? */
bool tui_is_small(void);
/** Says so, in place of all else. */
void tui_draw_small(void);

/** What windows (tui_window.h) are drawn over. */
typedef void tui_draw(void *ctx);
void tui_set_background(tui_draw *draw, void *ctx);
void tui_draw_background(void);

/** Put @p text into the terminal's clipboard, where the terminal lets programs do that (OSC 52). */
void tui_copy(const char *text, size_t size);

#endif
