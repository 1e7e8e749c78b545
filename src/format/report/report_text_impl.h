/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_REPORT_TEXT_IMPL_H
#define FORMAT_REPORT_REPORT_TEXT_IMPL_H

#include "format/report/report_text.h"

/** State of writing a table. */
struct report_writer {
	const struct report_feed *feed;
	const struct report_table *table;
	const struct report_text_opts *opts;
	const struct clew_sink *sink;
	struct buf out;  /* goes to the sink when it is large */
	struct buf cell; /* of one text, before escaping */
	bool is_cut;     /* some text did not fit, since this was last cleared */
};

/* --- report_text.c --- */

/** Columns of each sort key: its title's, or its longest text's. */
void report_measure(struct report_writer *w, size_t *widths);

/** Limit what was measured, by the line and by -w. */
void report_limit_widths(const struct report_writer *w, size_t *widths);

/** A line of the table's head: titles, or dots under them. */
void report_put_head(struct report_writer *w, const size_t *widths, bool is_rule);
void report_put_row(struct report_writer *w, const struct report_row *row, const size_t *widths);

/* --- report_text_cells.c --- */

/** A share in percent, " 12.34%", coloured by its size; right-aligned to @p width columns, 0: no
 * padding. */
void report_put_share(struct report_writer *w, uint64_t part, uint64_t whole, unsigned int width);

/** The cell's text, escaped, into out, cut to @p width columns. @return columns. */
size_t report_put_cell(struct report_writer *w, size_t width);

/* --- report_text_fit.c --- */

/** Cut the text in out from @p from on, without colours, to @p width columns. @return columns. */
size_t report_cut_cell(struct report_writer *w, size_t from, size_t width);

/** Columns of text with our colours. */
size_t report_line_columns(const char *s, size_t size);

/** End the line, cut where it is too long for the terminal. */
void report_end_line(struct report_writer *w);

/** Give the sort keys' columns the requested widths, and fit them into the line, of which the
 * numbers before them use @p used columns. A width of 0: the column is omitted. */
void report_fit(const struct report_writer *w, size_t used, size_t nr_numbers, size_t *widths,
		size_t nr);

/** Move what was written to @p out, without the last newline. @return whether a name was cut. */
bool report_take_line(struct report_writer *w, struct buf *out);

/* --- report_text_graph.c --- */

/** One row's graph. */
struct report_branches {
	const struct report_graph_node *nodes;
	size_t nr;
	bool *is_last;  /* by node: no sibling follows */
	uint64_t whole; /* 100 %, where shares are not of the branch above */
};

/** Set is_last. @return false when memory is short. */
bool report_branches_mark_last(struct report_branches *b);

/** Is node @p i the only continuation of the one before, and all but what the limit hides? */
bool report_branches_continues(const struct report_branches *b, size_t i,
			       const struct report_text_opts *opts);

/** The period of a branch, or its share of @p whole. */
void report_put_amount(struct report_writer *w, uint64_t part, uint64_t whole);
/** A frame's name, cut to @p width columns. */
void report_put_frame(struct report_writer *w, uint32_t frame, size_t width);
/** "[3 more frames]" */
void report_put_nr_more(struct report_writer *w, uint32_t nr);

enum clew_err report_put_graph(struct report_writer *w, const struct report_row *row);

#endif
