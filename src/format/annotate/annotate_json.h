/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_ANNOTATE_ANNOTATE_JSON_H
#define FORMAT_ANNOTATE_ANNOTATE_JSON_H

#include "annotate/ann_source.h"
#include "base/sink.h"

/*
 * {"format": "clew-annotate", "version": 1, "symbols": [...], "sources": [...]}: begin, each
 * function, end. Numbers per event are lists, in the order of "events"; where "counts" is
 * "executed", "samples" are these counts.
 */
struct annotate_json {
	const struct clew_sink *sink;
	struct buf out;
	bool needs_comma;
};

enum clew_err annotate_json_begin(struct annotate_json *j);
enum clew_err annotate_json(struct annotate_json *j, const struct annotation *a);
/** @p sources: that were looked for. */
enum clew_err annotate_json_end(struct annotate_json *j, const struct ann_sources *sources);
void annotate_json_done(struct annotate_json *j);

#endif
