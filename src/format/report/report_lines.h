/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_REPORT_LINES_H
#define FORMAT_REPORT_REPORT_LINES_H

#include "format/report/report_text.h"

/*
 * A table's lines one at a time, for a browser of them: rows as report_text_table() writes them,
 * and call graphs as trees that open at their forks. Lines have no newline.
 */
struct report_lines;

/** A line below a row. */
struct report_line_node {
	uint32_t node; /* of the table's graphs */
	enum report_line_kind {
		REPORT_LINE_BRANCH, /* at a fork: with its share, and perhaps lines below it */
		REPORT_LINE_FRAME,  /* the only continuation of the line before */
		REPORT_LINE_MORE,   /* how many frames the graph's limit hides */
	} kind;
};

struct report_line_nodes {
	VEC(struct report_line_node);
};

/** Borrows @p f and @p t. Measures all rows that are shown. CLEW_NO_MEMORY. */
enum clew_err report_lines_new(struct report_lines **ret, const struct report_feed *f,
			       const struct report_table *t, const struct report_text_opts *opts);
void report_lines_free(struct report_lines *l);

/** Limit lines to @p columns; 0: no limit. O(1). */
void report_lines_set_columns(struct report_lines *l, size_t columns);

void report_lines_titles(struct report_lines *l, struct buf *out);

/** @return whether a name is cut. */
bool report_lines_row(struct report_lines *l, size_t row, struct buf *out);
/** @p columns: of this line, 0: no limit. */
bool report_lines_node(struct report_lines *l, struct report_line_node n, size_t columns,
		       struct buf *out);

/** Is there anything below it? O(1). */
bool report_lines_row_opens(const struct report_lines *l, size_t row);
bool report_lines_node_opens(const struct report_lines *l, struct report_line_node n);

/** Append the lines directly below it. O(nodes below it). @return false when memory is short. */
bool report_lines_below_row(const struct report_lines *l, size_t row,
			    struct report_line_nodes *ret);
bool report_lines_below_node(const struct report_lines *l, struct report_line_node n,
			     struct report_line_nodes *ret);

#endif
