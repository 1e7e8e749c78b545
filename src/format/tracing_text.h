/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACING_TEXT_H
#define FORMAT_TRACING_TEXT_H

#include "analyze/ana_tracing.h"
#include "format/json_put.h"

/* When hardware trace was on, by the events that pause and resume it. @p x: closed. */

/** How much of it: all, or what fits under a report. */
enum tracing_detail { TRACING_ALL, TRACING_BRIEF };

/** Each thread's or CPU's intervals and their sum; TRACING_ALL: then the counts. @p prefix: before
 * each line. */
void tracing_text(struct buf *out, const struct ana_tracing *x, enum tracing_detail detail,
		  const char *prefix);

/** How many intervals, and their sum, in one line without its end. */
void tracing_sum(struct buf *out, const struct ana_tracing *x);

/** Sentence @p i, from 0, on what seems to be lost; nothing is appended where nothing is. @return
 * false: there are no more. */
bool tracing_sentence(struct buf *out, const struct ana_tracing *x, unsigned int i);

/** The same as members of an open object: "tracing". */
void tracing_json(struct json_put *j, const struct ana_tracing *x);

#endif
