/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PAGE_PAGE_IMPL_H
#define FORMAT_PAGE_PAGE_IMPL_H

#include "analyze/ana_pauses.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "format/page/page.h"
#include "format/page/page_gzip.h"
#include "format/page/page_intervals.h"

/** A sample as it waits in the file. */
struct page_row {
	uint64_t time; /* ns; not below that of the row before */
	uint64_t weight;
	uint32_t node, thread, cpu;
	uint32_t nr; /* samples: more than one where they were merged */
	uint16_t cgroup;
	uint8_t event;
	uint8_t is_timeless : 1; /* its time is that of the row before */
	uint8_t ends_trace  : 1; /* nothing of its thread was traced from here on */
};

enum {
	PAGE_VERSION = 2, /* of the data */
	PAGE_NONE = UINT32_MAX,
	PAGE_WIDE = UINT32_MAX, /* a difference of times from here on is in a column of its own */
	PAGE_MAX_COMMS = 8,     /* names kept of a thread */
	PAGE_MAX_EVENTS = UINT8_MAX, /* of the recording */
	PAGE_MAX_CGROUPS = UINT16_MAX - 1,
	PAGE_MAX_RECORDS = 100000, /* in the list of events */
	PAGE_MAX_PAUSES = 100000,
	PAGE_BATCH = 4096
};

struct page_thread {
	uint32_t pid, tid;
	uint32_t nr_comms, nr_more_comms;
	uint32_t comms[PAGE_MAX_COMMS]; /* in the order they were met */
	const char *last;               /* as the pipeline gave it */
};

/** What happened besides samples. */
struct page_record {
	uint64_t time;
	uint64_t who; /* pid and tid, as thread_of has them */
	uint32_t cpu;
	uint8_t kind;    /* enum page_record_kind */
	uint64_t number; /* lost records */
	uint32_t text;
};
enum page_record_kind {
	PAGE_LOST,
	PAGE_COMM,
	PAGE_EXIT,
	PAGE_THROTTLE,
	PAGE_UNTHROTTLE,
	PAGE_TRACE_BEGINS,
	PAGE_TRACE_LOST
};

struct page_feed {
	int fd, os_errno;
	struct page_row rows[PAGE_BATCH]; /* not yet written */
	size_t nr_waiting;
	uint64_t nr, first, last; /* rows; times */
	uint64_t nr_samples;
	uint64_t bin_ns;  /* rows are of all samples of a kind in this time; 0: of each */
	bool has_no_cpus; /* merged, too */
	uint64_t nr_rare; /* samples of kinds without a row of their own */
	uint32_t max_nr;  /* samples of a row */
	uint64_t nr_timeless, nr_wide; /* differences of times from PAGE_WIDE on */
	uint64_t max_dt;               /* the largest below it */
	uint64_t sum_of[PAGE_MAX_EVENTS + 1], nr_of[PAGE_MAX_EVENTS + 1];
	uint64_t max_weight, min_weight;
	struct page_row same; /* the first row */
	bool differs_cpu, differs_cgroup, differs_event, differs_thread;
	uint32_t max_cpu;
	uint64_t nr_without_cpu;
	struct {
		VEC(struct page_thread);
	} threads;
	struct map_u64 thread_of; /* pid and tid -> index */
	uint64_t last_thread_key;
	uint32_t last_thread;
	const char *last_cgroup;
	uint32_t last_cgroup_nr;
	struct intern texts, cgroups;
	struct {
		VEC(struct page_record);
	} records;
	uint64_t nr_more_records;
	struct ana_pauses pausing;
	struct {
		VEC(struct ana_pause);
	} pauses; /* as they were met; of errors of a trace both times are one */
	uint64_t nr_more_pauses;
	bool is_traced[PAGE_MAX_EVENTS + 1]; /* events made from a hardware trace */
	struct page_intervals intervals;     /* of threads, by switches */
	struct page_intervals levels, calls; /* of traced ones; page_trace.c */
	uint64_t nr_instant_calls;           /* that begin and end at one time of the trace */
};

/** --- page_trace.c --- */
struct page_tree;
/** Levels and calls of traced events. The rows are those of the samples, p->intervals is finished,
 * all pauses are known, and @p tree has its levels. */
enum clew_err page_trace_walk(struct page_feed *p, const struct page_tree *tree);

/** --- page_merge.c: samples of a kind, in bins of time, as one. --- */
/** The finest bins that leave @p max rows, if there are more. Sums do not change. */
enum clew_err page_rows_merge(struct page_feed *p, struct page_tree *tree,
			      const struct report_feed *f, uint64_t max);
/** Where none does. At least a row for each event remains. */
enum clew_err page_rows_merge_rare(struct page_feed *p, struct page_tree *tree,
				   const struct report_feed *f, uint64_t max);
/** @p fd, with @p nr rows, in place of those that were there. */
void page_rows_replace(struct page_feed *p, int fd, uint64_t nr);

/** --- page_tree.c: paths by row of the report, instead of by frame. --- */
struct page_tree {
	struct report_tree tree;
	uint32_t *node_of; /* by node of the report's tree */
	/* Nodes where stacks end, the most frequent first: small numbers are short. */
	uint32_t *stacks, *stack_of; /* node by number; number by node */
	uint32_t nr_stacks;
	uint32_t nr_small; /* nodes that were too rare for one of their own */
	/* In node_of: of page_tree_add_small(), one for each level, below the root; 0: none. */
	uint32_t small_node;
	uint8_t *levels; /* by node; NULL before page_tree_add_levels() */
};
enum clew_err page_tree_make(struct page_tree *t, const struct report_feed *f);
/** If there are more than @p max nodes: those below 0.001 % of all samples become one child of
 * their callers, with a frame that no group has (page_small_level()). */
enum clew_err page_tree_prune(struct page_tree *t, struct page_feed *p, const struct report_feed *f,
			      uint64_t max);
/** Number the stacks of rows. CLEW_OS: page->os_errno. */
enum clew_err page_tree_count(struct page_tree *t, struct page_feed *p);
/** Frames from report_feed_nr_groups() on: "(small)", one for each level. */
enum { PAGE_NR_SMALL = 6 };
/** Nodes for samples of stacks that are too rare. */
enum clew_err page_tree_add_small(struct page_tree *t, const struct report_feed *f);
/** The innermost frame's level of each node. */
enum clew_err page_tree_add_levels(struct page_tree *t, const struct report_feed *f);
/** Level as the columns have it, of a frame's text. */
unsigned int page_level_of(char letter);
void page_tree_done(struct page_tree *t);

/** --- page_columns.c --- */
struct page_out {
	struct page_feed *page;
	const struct report_feed *feed;
	const struct page_tree *tree;
	struct page_gzip *gzip;
	struct intern strings;            /* of the head */
	uint32_t *names, *dsos;           /* by group */
	uint32_t *files, *lines;          /* of its source; 0: unknown */
	uint32_t *pair_names, *pair_dsos; /* of a page of two recordings; else NULL */
	uint32_t small_name;              /* of page_tree_prune()'s frames */
	uint64_t last_time;               /* of the row before, while times are written */
	struct buf bytes;                 /* of a column, not yet packed */
	struct progress *progress;
};

/*
 * How a column's numbers stand in the data. Integers stand as planes: the lowest byte of each, then
 * the next byte of each, and so on; gzip packs bytes that are alike, as the high ones are.
 */
enum page_kind { PAGE_B1 = 1, PAGE_B2, PAGE_B3, PAGE_B4, PAGE_F64 = 8 }; /* bytes of an element */

struct page_column {
	const char *name;
	enum page_kind kind;
	uint64_t nr, at; /* elements; offset of the first */
	uint64_t (*of_item)(struct page_out *o, uint64_t i);
	/* in place of that: of each row, in their order; false: it has none */
	bool (*of_row)(struct page_out *o, const struct page_row *r, uint64_t *ret);
	uint64_t (*of_interval)(struct page_out *o, const struct page_interval *i);
	struct page_intervals *intervals; /* it is of */
};

enum { PAGE_MAX_COLUMNS = 36 };
struct page_columns {
	struct page_column all[PAGE_MAX_COLUMNS];
	size_t nr;
};

void page_columns_plan(struct page_columns *c, const struct page_out *o);
/** Rows that it goes through, each as often as it is read. */
uint64_t page_columns_work(const struct page_columns *c);
enum clew_err page_columns_put(const struct page_columns *c, struct page_out *o);

/** Rows @p from on, PAGE_BATCH at most, into the page's own batch. @return how many; 0: the end, or
 * page->os_errno. */
size_t page_rows_read(struct page_feed *p, uint64_t from);
/** Each row, in order, until @p take returns an error. CLEW_OS: page->os_errno. */
enum clew_err page_rows_each(struct page_feed *p,
			     enum clew_err (*take)(void *ctx, const struct page_row *r), void *ctx);
enum clew_err page_rows_flush(struct page_feed *p);
/** What differs among rows, and their largest numbers: all of it again. */
enum clew_err page_rows_measure(struct page_feed *p);

/** --- page_head.c --- */
/** Texts of all frames, with @p pair also those to compare by: before the columns are planned. */
enum clew_err page_head_names(struct page_out *o, struct report_diff_files *pair);
enum clew_err page_head_put(struct buf *to, struct page_out *o, const struct page_columns *c,
			    const struct ana_summary *s, const struct page_opts *opts);

#endif
