/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_BROWSER_H
#define CLI_TUI_BROWSER_H

#include "base/vec.h"
#include "cli/tui_window.h"

/*
 * A screen of rows that open: a head, titles, rows, and a last line with hints or a message. It
 * moves, opens and closes, filters and finds, and shows its help by itself; all other keys are the
 * caller's:
 *
 *	b = tui_browser_new(&source);
 *	while ((key = tui_browser_run(b, ms)) != 'q')
 *		...                            TUI_TIMEOUT: after ms without a key
 *	tui_browser_free(b);
 *
 * Rows that change while they are shown: change them, then tui_browser_refresh(). The cursor and
 * what is open stay with the rows of the same identity.
 */
struct tui_nodes {
	VEC(uint64_t);
};

struct tui_key_text {
	const char *keys, *does;
};

/** Where rows come from. Nodes are the source's own numbers. */
struct tui_source {
	void *ctx;
	/** Append what is below @p node, or with is_top all rows of the first level. @return false
	 * when memory is short. */
	bool (*children)(void *ctx, bool is_top, uint64_t node, struct tui_nodes *ret);
	/** NULL: no row opens. */
	bool (*opens)(void *ctx, uint64_t node);
	/** Append the row, in up to @p columns (0: no limit), escaped. @return whether a name is
	 * cut. What is longer still is cut by the browser. Called for rows that are seen. */
	bool (*line)(void *ctx, uint64_t node, size_t columns, struct buf *out);
	/** Append what filters and searches look at, and with @p is_whole all that may be cut. */
	void (*name)(void *ctx, uint64_t node, bool is_whole, struct buf *out);
	/** What stays the same when rows change, among those below the same row. NULL: the node. */
	uint64_t (*identity)(void *ctx, uint64_t node);
	/** Append the first line, and the line of titles. NULL: none. */
	void (*head)(void *ctx, size_t columns, struct buf *out);
	void (*titles)(void *ctx, size_t columns, struct buf *out);
	/** The filter, or what it keeps, has changed: before rows are drawn. NULL: not called. */
	void (*kept)(void *ctx);
	/** What stands in place of rows where there are none, escaped, in lines. NULL: nothing. */
	void (*nothing)(void *ctx, struct buf *out);
	/** Why a row does not open, escaped. NULL: nothing is said. */
	void (*closed)(void *ctx, uint64_t node, struct buf *out);
	const char *hints;               /* for the last line: the most useful keys */
	const struct tui_key_text *keys; /* the caller's, for the help; ends with NULL */
	const char *taken; /* of the browser's own keys: these are the caller's, too. NULL: none */
	const char *rows;  /* "rows": what the last line counts */
	bool is_text;      /* '/' finds a line, and hides none; rows begin at the first column */
};

struct tui_browser;

/** @p s is copied; tui_open() first. NULL: memory is short. */
struct tui_browser *tui_browser_new(const struct tui_source *s);
void tui_browser_free(struct tui_browser *b);

/** Draw, and handle keys up to one that is the caller's, or to @p ms without one (TUI_TIMEOUT); <
 * 0: no limit. 'q' and Ctrl-C come as 'q'. */
int tui_browser_run(struct tui_browser *b, int ms);

/** The source's rows have changed. */
void tui_browser_refresh(struct tui_browser *b);

/** The node below the cursor. @return false: there is none. */
bool tui_browser_at(const struct tui_browser *b, uint64_t *ret);
/** Its first-level row. */
bool tui_browser_top_at(const struct tui_browser *b, uint64_t *ret);
/** Put the cursor there, if it is seen. */
void tui_browser_go(struct tui_browser *b, uint64_t node);
/** Open or close the row below the cursor, as '+' does. */
void tui_browser_toggle(struct tui_browser *b);
bool tui_browser_is_open(const struct tui_browser *b);

/** The filter's text, ""; NULL in set: none. */
const char *tui_browser_filter(struct tui_browser *b);
void tui_browser_set_filter(struct tui_browser *b, const char *text);
/** For the first line: append "  filter: TEXT", escaped, if there is one. NULL: there is none. */
void tui_browser_put_filter(struct tui_browser *b, struct buf *out);

/** A message in the last line, up to the next key. Escaped here. */
void tui_browser_say(struct tui_browser *b, const char *format, ...) CLEW_PRINTF(2, 3);

/** Append all rows that are seen when scrolling, uncut, with titles. */
void tui_browser_write(struct tui_browser *b, struct buf *out);

#endif
