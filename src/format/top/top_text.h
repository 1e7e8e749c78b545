/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TOP_TOP_TEXT_H
#define FORMAT_TOP_TOP_TEXT_H

#include "format/report/report_text.h"
#include "top/top.h"
#include "top/top_select.h"

/** How a refresh is shown. */
struct top_style {
	struct report_table_opts table;
	struct report_text_opts text;
	struct top_select select;
	bool has_graph; /* call chains are recorded, and shown */
};

/** The rows of event @p i of @p v that @p style keeps; report_table_done() at the end. @p v's feed
 * is written to. CLEW_NO_MEMORY. */
enum clew_err top_table_make(const struct top_view *v, size_t i, const struct top_style *style,
			     struct report_table *ret);

/** Append one line: samples per second, what was lost, shares of the levels, our own CPU time.
 * @p is_short: for a narrow screen. */
void top_put_head(struct buf *out, const struct top_view *v, bool is_short);

/** The line, and a table for each event. CLEW_NO_MEMORY, or what the sink says. */
enum clew_err top_text(const struct top_view *v, const struct top_style *style,
		       const struct clew_sink *sink);

/** The same as one JSON object in one line (docs/spec/top-json.md). */
enum clew_err top_json(const struct top_view *v, const struct top_style *style,
		       const struct clew_sink *sink);

#endif
