/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_ETM_MARKS_H
#define TRACE_ETM_MARKS_H

#include "packet/coresight/cs_frame.h"
#include "trace/etm_trace.h"

/** Where the bytes of each frame were, and those behind an ID: sink.mark for what @p s holds, whose
 * first byte is the unit's byte @p offset. */
enum clew_err etm_tell_marks(const struct etm_sink *sink, size_t unit, uint64_t offset,
			     const struct cs_stream *s);

#endif
