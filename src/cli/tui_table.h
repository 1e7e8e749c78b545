/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_TABLE_H
#define CLI_TUI_TABLE_H

#include "cli/tui_browser.h"
#include "format/report/report_lines.h"

/*
 * Rows of samples and the lines of their call graphs as nodes of a browser: what the browsers of
 * report and top have in common. A node is a row's index, or a line's kind + 1 above a graph
 * node's.
 */
enum { TUI_KIND_SHIFT = 32 };

bool tui_node_is_row(uint64_t node);
/** Of a node that is no row. */
struct report_line_node tui_node_line(uint64_t node);

/** The frame at @p node; of a row its function's. */
uint32_t tui_node_frame(const struct report_feed *f, const struct report_table *t, uint64_t node);

/** tui_source's children() and opens(), but for rows of the first level. */
bool tui_node_children(const struct report_lines *l, uint64_t node, struct tui_nodes *ret);
bool tui_node_opens(const struct report_lines *l, uint64_t node);

/** Lines of rows as the browser takes them: without the gap before the first column, which is the
 * browser's own. */
struct tui_fitted {
	struct report_lines *lines; /* NULL: there are none */
	size_t columns;             /* that they are fitted to */
	struct buf text;            /* scratch */
};
/** @return whether a name is cut. */
bool tui_fitted_row(struct tui_fitted *f, size_t row, size_t columns, struct buf *out);
void tui_fitted_titles(struct tui_fitted *f, size_t columns, struct buf *out);
/** Other lines, made with all columns; taken. NULL: none. */
void tui_fitted_set(struct tui_fitted *f, struct report_lines *lines);
void tui_fitted_done(struct tui_fitted *f);

/** Append the function, or with @p is_whole, and where rows are none of functions, all keys. */
void tui_row_name(const struct report_feed *f, const struct report_row *row, bool is_whole,
		  struct buf *out);

/** Ask for the least share of a row, in percent. @return false: it is as before; the browser says
 * why if the text was no such number. */
bool tui_ask_share(struct tui_browser *b, double *share);

#endif
