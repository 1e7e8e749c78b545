/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_DIFF_JSON_H
#define FORMAT_REPORT_DIFF_JSON_H

#include "format/report/diff_text.h"

/** All tables as one JSON document (docs/spec/diff-json.md). CLEW_NO_MEMORY, or what the sink says.
 */
enum clew_err diff_json(const struct diff_feed *d, const struct diff_input *inputs,
			const struct clew_sink *sink);

/** "share", "time", "cpu", "ref", "none" */
const char *diff_norm_name(enum report_diff_norm n);

#endif
