/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_CS_FRAME_TEXT_H
#define FORMAT_TRACE_CS_FRAME_TEXT_H

#include "base/sink.h"
#include "trace/trace_input.h"

/*
 * The frames of a trace formatter, and what lies between them:
 *
 *	OFFSET WHAT BYTES  ID[FROM-TO] ...
 *
 * OFFSET counts the bytes of the file. ID[FROM-TO] are data bytes of one source, by their places in
 * the frame; all other bytes of it are IDs, and the last one holds the flags.
 */
struct cs_frame_text_opts {
	bool is_json;
	const bool *skips; /* by unit; NULL: none */
};

/** *ret_any: whether there was any frame. @return what the run or the sink returned. */
enum clew_err cs_frame_text(struct trace_input *t, const struct cs_frame_text_opts *opts,
			    const struct clew_sink *sink, struct clew_diag *diag, bool *ret_any);

#endif
