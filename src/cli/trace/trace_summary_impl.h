/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TRACE_TRACE_SUMMARY_IMPL_H
#define CLI_TRACE_TRACE_SUMMARY_IMPL_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "cli/trace/trace.h"
#include "trace/cs_listener.h"

/* What `clew trace` counts, and says as text (trace_summary.c) or as JSON (trace_summary_json.c).
 */

enum { TRACE_PAGE_BITS = 12, NR_REASONS_KEPT = 8 };

/** Why decoding had to wait for the next synchronisation. */
struct trace_lost {
	uint8_t reason;
	const char *what; /* NULL: the trace itself said so */
	uint64_t nr, first_offset;
};

/** Pages without code, side by side. */
struct trace_gap {
	uint64_t start, end, nr; /* of pages; times */
	uint64_t address;        /* the first that was asked for, */
	uint32_t space, unit;    /* there */
};

/** Pages of code that cannot be read. */
struct trace_gaps {
	VEC(struct trace_gap);
	struct map_u64 index; /* page -> its place */
};

struct trace_unit_summary {
	struct flow_totals totals;
	struct trace_ops_counts ops; /* of a unit with operations: in place of the rest */
	uint64_t nr_timestamps;
	struct trace_lost lost[NR_REASONS_KEPT];
	size_t nr_lost;
	struct trace_gaps gaps; /* of JSON, which has each unit's */
};

struct trace_summary {
	struct trace_command *command;
	struct trace_unit_summary *units;
	struct trace_gaps gaps; /* of all units; of text */
	struct cs_leftover frames;
};

/** SPE. */
bool trace_unit_is_of_ops(const struct trace_unit *u);

/** Pages that are near are one gap; those with most uses first. */
void trace_gaps_merge(const struct trace_summary *s, struct trace_gaps *gaps);
/** The file that is mapped there, and why it cannot be read. NULL: unknown. */
const char *trace_gap_owner(const struct trace_summary *s, const struct trace_gap *g);
const char *trace_gap_why(const struct trace_summary *s, const struct trace_gap *g);

/** trace_summary_json.c: append a line. */
void trace_summary_json(const struct trace_summary *s, struct buf *out, size_t unit);

#endif
