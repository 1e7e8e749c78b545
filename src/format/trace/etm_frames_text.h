/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_ETM_FRAMES_TEXT_H
#define FORMAT_TRACE_ETM_FRAMES_TEXT_H

#include "format/json_put.h"
#include "trace/cs_listener.h"

/* What the frames of a trace formatter held that is no unit's trace: so that nothing is lost
 * unsaid. */

/** Some lines, or none where every byte was a unit's or padding. */
void etm_frames_text(struct buf *out, const struct cs_leftover *f);

/** An object and a newline; nothing where no trace was in frames. docs/spec/trace-json.md */
void etm_frames_json(struct buf *out, const struct cs_leftover *f);

#endif
