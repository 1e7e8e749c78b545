/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_NOTE_H
#define FORMAT_SCRIPT_SCRIPT_NOTE_H

#include "analyze/analyze.h"
#include "base/buf.h"
#include "format/json_put.h"

/* What Intel PT reports besides execution: " cbr: 20 freq: 1000 MHz (100%) ". */

/** The column, as wide as perf's. */
void script_add_note(struct buf *b, const struct ana_note *note);
/** Members of an object. */
void script_json_note(struct json_put *p, const struct ana_note *note);

#endif
