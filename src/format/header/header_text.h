/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_HEADER_HEADER_TEXT_H
#define FORMAT_HEADER_HEADER_TEXT_H

#include "base/buf.h"
#include "perfdata/perf_file.h"

/** A header's contents, and results of reading the records. */
struct header_facts {
	struct perf_file *file;  /* borrowed */
	const char *captured_on; /* the file's time, "Sat Nov 21 12:20:08 2026"; NULL: a stream */
	bool is_full;            /* topologies in full, as perf with -I */
	bool has_records;        /* all records were read: counts, end and end_offset are valid */
	enum clew_err end;       /* how reading them ended; CLEW_END: complete */
	struct clew_diag diag;   /* and why, where it is an error */
};

/** The text of `perf report --header-only`, and of which PID namespaces the ids are, if the
 * recorder says so. */
void header_text(struct buf *out, const struct header_facts *h);

/** What perf does not show: records by type, compression, and whether the file is complete. */
void header_text_records(struct buf *out, const struct header_facts *h);

/** "complete", "unfinished" (its writer was killed), "truncated", "damaged" or "unknown". */
const char *header_state(const struct header_facts *h);

/** Both as one JSON object, without a newline; every feature under its perf name in lower case. */
void header_json(struct buf *out, const struct header_facts *h);

#endif
