/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_WINDOW_H
#define CLI_TUI_WINDOW_H

#include "cli/tui_screen.h"

/* Windows over what tui_set_background() draws. They follow the screen's size; Esc, q and Ctrl-C
 * leave them. */

struct tui_item {
	const char *text; /* escaped */
	int key;          /* also chooses it; 0: none */
};

/** A list to choose from. @p at: where the cursor stands first. @return the item's index; -1: none.
 */
int tui_menu(const char *title, const struct tui_item *items, int nr, int at);

/** Lines of text to scroll in. @p text: escaped, but for newlines and our colours. */
void tui_text(const char *title, const char *text, size_t size);

/** Called after each change of what is typed. */
typedef void tui_typed(void *ctx, const char *text);

/**
 * One line of text, typed in the last line of the screen. @p text: what it starts with, and what
 * it became. @return whether Enter ended it; else it is as before.
 */
bool tui_ask(const char *prompt, struct buf *text, tui_typed *typed, void *ctx);

/** Where @p key moves a cursor in a list of @p nr, of which @p page are seen. */
size_t tui_moved(size_t at, size_t nr, size_t page, int key);

/** The next of @p nr after @p at, or the one before it, all round. */
size_t tui_beside(size_t at, size_t nr, bool is_before);

#endif
