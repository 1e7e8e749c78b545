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

/** A line of a function. */
struct annotate_line {
	size_t from, bytes; /* in annotate_lines.text */
	uint32_t insn;      /* its instruction; of source: the first one below it */
	bool is_insn;
};

/** The same text, line by line. Zeroed struct = empty. */
struct annotate_lines {
	struct buf text;
	struct {
		VEC(struct annotate_line);
	} lines;
	size_t head_bytes;   /* text begins with the head, */
	size_t titles_bytes; /* then the line of titles; both with newlines */
};

/** @return CLEW_NO_MEMORY. */
enum clew_err annotate_lines_make(struct annotate_lines *l, const struct annotation *a,
				  const struct annotate_text_opts *opts);
void annotate_lines_done(struct annotate_lines *l);

#endif
