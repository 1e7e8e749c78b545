/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_REPORT_TEXT_H
#define FORMAT_REPORT_REPORT_TEXT_H

#include "base/sink.h"
#include "rows/report_feed.h"

enum report_graph_style {
	REPORT_GRAPH_NONE,
	REPORT_GRAPH_TREE,
	REPORT_GRAPH_FLAT,
	REPORT_GRAPH_FOLDED
};

enum { REPORT_MAX_WIDTHS = 24 };

struct report_text_opts {
	enum report_graph_style style;
	bool is_relative; /* shares in graphs are of the branch above */
	double min_share; /* branches below are omitted; 0 to 1 */
	bool has_periods; /* graphs show periods, not shares */
	bool by_total;    /* columns Children and Self, else Overhead */
	bool has_nr;      /* column of sample counts */
	bool has_period;  /* column of periods */
	bool is_colored;
	const char *separator; /* between columns, instead of aligning them; NULL: align */
	/* Where columns are aligned: what does not fit is cut, with a mark. */
	size_t columns;       /* of the terminal: no line is longer; 0: no limit */
	const char *cut_mark; /* NULL: "..." */
	/* Names are cut in their middle, and the first columns omitted where the others would have
	 * too little. */
	bool keeps_ends;
	uint16_t widths[REPORT_MAX_WIDTHS]; /* of the columns, those of numbers too; 0: as their
					       texts */
};

/**
 * One table: header lines after '#', then a line per row with its call graph below. Control
 * characters in names are escaped. Where columns are limited, the last one shrinks first, then the
 * widest; deep call graphs are indented less; notes in the head are broken. CLEW_NO_MEMORY, or what
 * the sink says.
 */
enum clew_err report_text_table(const struct report_feed *f, const struct report_table *t,
				const struct report_text_opts *opts, const struct clew_sink *sink);

/** Every distinct path of an event as flame graph tools take it: "comm;main;work 1234", by period
 * where @p by_period, else by samples. */
enum clew_err report_text_folded(const struct report_feed *f, size_t event, bool by_period,
				 const struct clew_sink *sink);

#endif
