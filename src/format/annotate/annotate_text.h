/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_ANNOTATE_ANNOTATE_TEXT_H
#define FORMAT_ANNOTATE_ANNOTATE_TEXT_H

#include "annotate/annotation.h"
#include "base/sink.h"

struct annotate_text_opts {
	bool is_colored;
	bool has_counts; /* samples in place of shares */
	bool has_places; /* FILE:LINE, not LINE alone */
	bool no_source;
};

/** One function: a head, then its lines, each with its instructions below it. @return the sink's
 * error; CLEW_NO_MEMORY. */
enum clew_err annotate_text(const struct annotation *a, const struct annotate_text_opts *opts,
			    const struct clew_sink *sink);

#endif
