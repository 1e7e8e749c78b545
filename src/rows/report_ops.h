/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_REPORT_OPS_H
#define ROWS_REPORT_OPS_H

#include "report/latency.h"
#include "rows/report_feed.h"

/*
 * Sampled operations (ana_event.op), and samples that say where their data came from: memory
 * accesses by data source, by the sort keys, and by cache line; or branches. Each operation counts
 * once, however many events it is.
 */

enum report_latency {
	REPORT_ISSUE,     /* until it is issued */
	REPORT_EXECUTE,   /* from then on */
	REPORT_TRANSLATE, /* of the address */
	REPORT_TOTAL,
	REPORT_NR_LATENCIES
};
const char *report_latency_name(enum report_latency l);

struct report_op_sum {
	uint64_t nr, nr_loads, nr_stores, nr_remote, nr_hitm, nr_remote_hitm, nr_peer, nr_walks;
	uint64_t nr_mispredicted, nr_not_taken;
	uint64_t nr_at_least;    /* a counter was at its maximum */
	uint64_t nr_not_retired; /* by speculation alone: with a latency, but without effect */
	struct latency latencies[REPORT_NR_LATENCIES];
};

/** Where data came from. Level bits of data_src alone: the rest is 0. */
struct report_op_source {
	uint64_t data_src;
	uint64_t number;  /* as the core numbers it; with has_number */
	const char *name; /* static words; NULL: unknown for this core */
	uint64_t has_number;
};

/** Equal keys and, of memory, equal frame keys; of branches one address. */
struct report_op_row {
	struct report_row row; /* key and group, for report_feed_row_text() */
	uint32_t frame;
	struct report_op_sum sum;
};

/** One place in a cache line, and the code that used it: its part of all. */
struct report_op_use {
	uint64_t address;
	uint32_t pid; /* 0: the kernel's; all ones: unknown */
	uint32_t frame;
	const struct report_op_sum *sum; /* of latencies the total alone */
};

enum { REPORT_LINE_BYTES = 64 };
struct report_op_line {
	uint64_t address; /* of its first byte */
	uint32_t pid;
	size_t first_use, nr_uses;
	struct report_op_sum sum;
};

struct report_ops {
	struct report_op_sum all;
	struct {
		VEC(struct report_op_source);
	} sources;
	struct report_op_sum *by_source; /* the same order */
	uint32_t *source_order;          /* most expensive first */
	struct {
		VEC(struct report_op_row); /* most expensive first; branches: most mispredicted */
	} rows;
	struct {
		VEC(struct report_op_line); /* most HITM first, then remote, then accesses */
	} lines;
	struct {
		VEC(struct report_op_use);
	} uses;
	uint64_t nr_no_room;
};

/** After report_feed_finish() of a feed with opts.ops. */
const struct report_ops *report_feed_ops(const struct report_feed *f);

#endif
