/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_HEADER_EVLIST_TEXT_H
#define FORMAT_HEADER_EVLIST_TEXT_H

#include <clew/session.h>

#include "base/buf.h"

/** What `perf evlist` shows of each event, in its text. */
struct evlist_text_opts {
	bool is_verbose;       /* -v: every field of the attr */
	bool has_freq;         /* -F */
	bool has_groups;       /* -g: "{a,b}" for groups; names only */
	bool has_trace_fields; /* names of a tracepoint's fields */
};

/** One line per event. */
void evlist_text(struct buf *out, struct clew_session *s, const struct evlist_text_opts *opts);

/** Does some event count a tracepoint? */
bool evlist_has_tracepoints(struct clew_session *s);

/**
 * {"format": "clew-evlist", "version": 1, "events": [{"index", "name", "unit", "leader", "group",
 * attr fields that are not 0 under their own names (sets of bits as lists of names, flags as 1),
 * "ids": []}, ...]}, without a newline.
 */
void evlist_json(struct buf *out, struct clew_session *s);

#endif
