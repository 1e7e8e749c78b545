/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_REPORT_JSON_H
#define FORMAT_REPORT_REPORT_JSON_H

#include "base/sink.h"
#include "rows/report_feed.h"

/**
 * A report as one JSON document (docs/spec/report-json.md): begin, a table for each event or group,
 * end. Zeroed but for feed and sink before the first call.
 */
struct report_json {
	const struct report_feed *feed;
	const struct clew_sink *sink;
	struct buf out, text;
	bool needs_comma;
};

/* Each returns CLEW_OK, CLEW_NO_MEMORY, or what the sink says. */
enum clew_err report_json_begin(struct report_json *j, const struct ana_summary *s);
enum clew_err report_json_table(struct report_json *j, const struct report_table *t);
enum clew_err report_json_end(struct report_json *j);
void report_json_done(struct report_json *j);

#endif
