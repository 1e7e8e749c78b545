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
};

/* --- report_text_cells.c --- */

/** A share in percent, " 12.34%", coloured by its size; right-aligned to @p width columns, 0: no
 * padding. */
void report_put_share(struct report_writer *w, uint64_t part, uint64_t whole, unsigned int width);

/** The cell's text, escaped, into out, cut to @p width columns. @return columns. */
size_t report_put_cell(struct report_writer *w, size_t width);

/* --- report_text_fit.c --- */

/** Cut the text in out from @p from on, without colours, to @p width columns. @return columns. */
size_t report_cut_cell(struct report_writer *w, size_t from, size_t width);

/** End the line, cut where it is too long for the terminal. */
void report_end_line(struct report_writer *w);

/** Give the sort keys' columns the requested widths, and fit them into the line, of which the
 * numbers before them use @p used columns. */
void report_fit(const struct report_writer *w, size_t used, size_t nr_numbers, size_t *widths,
		size_t nr);

/* --- report_text_graph.c --- */
enum clew_err report_put_graph(struct report_writer *w, const struct report_row *row);

#endif
