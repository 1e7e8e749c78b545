/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_HEADER_EVLIST_TEXT_H
#define FORMAT_HEADER_EVLIST_TEXT_H

#include "base/buf.h"
#include "perfdata/perf_evlist.h"

/** What `perf evlist` shows of each event, in its text. */
struct evlist_text_opts {
	bool is_verbose; /* -v: every field of the attr */
	bool has_freq;   /* -F */
	bool has_groups; /* -g: "{a,b}" for groups; names only */
	/* --trace-fields: append "a,b,c" of the tracepoint of that id. NULL: not asked for. */
	bool (*trace_fields)(void *ctx, uint64_t id, struct buf *out);
	void *ctx;
};

/** One line an event. */
void evlist_text(struct buf *out, const struct perf_evlist *l, const struct evlist_text_opts *opts);

/** Does some event count a tracepoint? */
bool evlist_has_tracepoints(const struct perf_evlist *l);

/**
 * {"format": "clew-evlist", "version": 1, "events": [{"index", "name", "unit", "leader", "group",
 * attr fields that are not 0 under their own names (sets of bits as lists of names, flags as 1),
 * "ids": []}, ...]}, without a newline.
 */
void evlist_json(struct buf *out, const struct perf_evlist *l);

#endif
