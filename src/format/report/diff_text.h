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

#endif
