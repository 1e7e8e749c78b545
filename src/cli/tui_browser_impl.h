/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_BROWSER_IMPL_H
#define CLI_TUI_BROWSER_IMPL_H

#include "base/map_u64.h"
#include "cli/tui_browser.h"

struct tui_row {
	uint64_t node, identity; /* identity: with those of the rows above it */
	uint32_t depth;
	bool opens, is_open;
};

struct tui_rows {
	VEC(struct tui_row);
};

struct tui_browser {
	struct tui_source s;
	struct tui_rows rows;
	struct tui_nodes nodes; /* of one children() */
	size_t nr_top, nr_kept; /* first-level rows, and those that the filter keeps */
	size_t at, first;       /* the cursor, and the first row seen */
	struct map_u64 open;    /* identities of open rows */
	struct buf filter, found, line, name, message;
	bool no_titles;
};

/* --- tui_browser_rows.c: what is open, as rows from top to bottom --- */

/** All again, after rows, the filter or the set of open ones changed; the cursor stays with its
 * row. @p opens_all: opens them. */
void tui_rows_lay_out(struct tui_browser *b, bool opens_all);
/** Row @p i and what is below it. */
void tui_rows_lay_out_row(struct tui_browser *b, size_t i, bool opens_all);
/** Where the rows below row @p i end. */
size_t tui_rows_end_below(const struct tui_browser *b, size_t i);
/** Has the node's name @p wanted in it? */
bool tui_rows_match(struct tui_browser *b, uint64_t node, const struct buf *wanted);

#endif
