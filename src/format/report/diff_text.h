/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_DIFF_TEXT_H
#define FORMAT_REPORT_DIFF_TEXT_H

#include "base/sink.h"
#include "rows/diff_feed.h"

/** One of the compared recordings. */
struct diff_input {
	const char *path;
	uint64_t nr_lost; /* samples */
};

struct diff_text_opts {
	bool is_colored;
	const char *separator; /* between columns, instead of aligning them; NULL: align */
	size_t columns;        /* of the terminal; 0: no limit */
	const char *cut_mark;  /* NULL: "..." */
};

/**
 * One event's table: the recordings and their totals after '#', then a line for each row that is
 * shown. Control characters in names are escaped. CLEW_NO_MEMORY, or what the sink says.
 */
enum clew_err diff_text_table(const struct diff_feed *d, const struct diff_table *t,
			      const struct diff_input *inputs, const struct diff_text_opts *opts,
			      const struct clew_sink *sink);

/** A table's lines one at a time, for a browser of them, without newlines; names are cut in their
 * middle. */
struct diff_lines;

/** All is borrowed. Measures all rows that are shown. CLEW_NO_MEMORY. */
enum clew_err diff_lines_new(struct diff_lines **ret, const struct diff_feed *d,
			     const struct diff_table *t, const struct diff_input *inputs,
			     const struct diff_text_opts *opts);
void diff_lines_free(struct diff_lines *l);

/** Limit lines to @p columns; 0: no limit. O(1). */
void diff_lines_set_columns(struct diff_lines *l, size_t columns);

/** The recordings and what values are: the lines after '#', with newlines. */
void diff_lines_head(struct diff_lines *l, struct buf *out);
void diff_lines_titles(struct diff_lines *l, struct buf *out);
/** @return whether a name is cut. */
bool diff_lines_row(struct diff_lines *l, size_t row, struct buf *out);

#endif
