/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_CHROME_H
#define FORMAT_EXPORT_CHROME_H

#include "export/export_spool.h"
#include "format/export/export_formats.h"
#include "format/json_put.h"
#include "report/report_slices.h"

/* What both shapes of Chrome's JSON have in common: slices, and samples. */

struct chrome_thread {
	struct report_slices calls;
	uint64_t last, end, nr; /* the last sample's; from the start */
	uint64_t spare;         /* nanoseconds that overlaps have cut off */
};

struct chrome {
	struct json_put json;
	struct {
		VEC(struct chrome_thread);
	} threads; /* by thread + 1; 0: the unknown one */
	uint64_t start;
	bool has_start;
	struct buf name;               /* of the function at hand */
	uint64_t sampled_ns, shown_ns; /* of all samples, and of slices */

	/* Samples: their events come after them. */
	struct json_put events;
	struct buf event;
	struct export_spool spool;
};

/** The document, up to its list. */
struct chrome *chrome_begin(struct export *x);
/** Since the first record; @p otherwise: of what has no time. */
uint64_t chrome_since_start(struct chrome *p, struct clew_perf_ns time, uint64_t otherwise);
void chrome_done(struct export *x);

/* Members of an event. */
void chrome_put_ts(struct json_put *j, uint64_t ns);
void chrome_put_who(const struct export *x, struct json_put *j, uint32_t thread);
void chrome_put_function(struct export *x, struct json_put *j, uint32_t function);

/* Whole events; @p ns: since the start. */
void chrome_put_names(const struct export *x, struct json_put *j, uint32_t thread, uint64_t ns);
void chrome_put_lost(struct json_put *j, const struct export_lost *l, uint64_t ns);
void chrome_put_pause(struct chrome *c, struct json_put *j, const struct ana_pause *p);

#endif
