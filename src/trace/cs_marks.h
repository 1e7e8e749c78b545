/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_CS_MARKS_H
#define TRACE_CS_MARKS_H

#include "packet/coresight/cs_frame.h"
#include "trace/trace_input.h"

/** Where the bytes of each frame were, and those after an ID: sink.mark for what @p s holds; its
 * first byte is the unit's byte @p offset. */
enum clew_err cs_put_marks(const struct trace_sink *sink, size_t unit, uint64_t offset,
			   const struct cs_stream *s);

#endif
