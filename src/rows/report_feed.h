/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_REPORT_FEED_H
#define ROWS_REPORT_FEED_H

#include "analyze/analyze.h"
#include "base/buf.h"
#include "report/report_diff_name.h"
#include "report/report_graph.h"
#include "rows/report_sort.h"

/*
 * From the pipeline's samples to a report: gives frames and threads their small numbers, counts
 * paths in a report_tree, and afterwards turns rows back into names.
 */
/** What is counted besides samples. */
enum report_ops_kind { REPORT_OPS_NONE, REPORT_OPS_MEMORY, REPORT_OPS_BRANCHES };

struct report_feed_opts {
	struct report_sort sort;
	/* comms, pids, tids: samples of others count in the totals and nowhere else, as with perf;
	 * the rest of it is unused here */
	struct ana_filter filter;
	/* Branches are counted, not samples: each entry of a branch stack, with a period of 1. A
	 * frame's keys are those of its target. dsos and symbols choose samples, by their own
	 * address, symbol_part the branches with either end there. */
	bool by_branch;
	/* Of entry @i of a stack, where ana_loc.source of its source is OTHER: does it count as no
	 * branch? Its row is made in any case. NULL: none does. */
	bool (*is_no_branch)(const struct ana_event *e, uint64_t i);
	/* Sampled operations are counted, and nothing else (report_ops.h). */
	enum report_ops_kind ops;
	const char *dsos, *symbols; /* comma lists: rows of these alone; NULL: all */
	const char *symbol_part;    /* rows with this in their symbol's name; NULL: all */
	uint32_t max_stack;         /* frames kept of a path; 0: all */
	bool keeps_outermost;  /* of those max_stack, and the sampled one; else the innermost */
	uint32_t max_nodes;    /* of the tree; 0: its default */
	bool by_address;       /* call graphs by address, not by function */
	bool has_inlines;      /* inlined functions are frames (ana_opts.wants_lines) */
	bool no_chains;        /* the sampled frame alone */
	bool no_rows;          /* samples are counted, and nothing else: no tables, no paths */
	bool no_graphs;        /* no table will have call graphs */
	bool no_paths;         /* report_feed_paths() will not be called, and events without
				  PERF_SAMPLE_CALLCHAIN get no call graphs */
	struct budget *budget; /* of rows, paths and names; NULL: no limit */
	bool hide_unresolved;  /* skip samples and rows without a symbol */
	/* Called for each sample that is kept, with its path's node; NULL: no one asks. */
	enum clew_err (*on_sample)(void *ctx, const struct ana_event *e, uint32_t node);
	void *on_sample_ctx;
};

/** Counts of one event of the recording. */
struct report_event {
	const struct perf_evsel *evsel;
	struct report_weights weights;
	uint64_t nr, period;              /* all samples of the event */
	uint64_t nr_kept, period_kept;    /* those the filter kept */
	uint64_t nr_stacks, nr_stackless; /* by_branch: samples with and without branches */
	uint64_t nr_not_branches;         /* entries that the filter kept, and is_no_branch() */
	uint64_t nr_no_room; /* paths cut to their sampled frame, or in no row: no room was left */
	uint64_t nr_deep, nr_deep_frames; /* samples with a chain of more than max_stack frames, and
					     how many more */
	/* What LOST_SAMPLES count, with ana_opts.wants_records: */
	uint64_t nr_lost, nr_bpf_filtered;
	bool has_chains;
};

struct report_feed;

/** Texts of @p opts are borrowed. CLEW_INVALID: unusable filter lists; CLEW_NO_MEMORY. */
enum clew_err report_feed_new(struct report_feed **ret, const struct report_feed_opts *opts,
			      struct clew_diag *diag);
void report_feed_free(struct report_feed *f);

/** To be an ana_consumer's batch(), with the feed as its ctx. */
enum clew_err report_feed_batch(void *feed, const struct ana_batch *b);

/** How a feed is made of another. */
struct report_carry {
	double factor;         /* of its counts, at most 1 */
	double min_share;      /* of an event's period: functions with less are omitted, */
	double min_path_share; /* and call paths */
	const struct perf_evlist *events; /* by index, in place of those it is of; borrowed for the
					     life of @p to */
};

/**
 * Before report_feed_finish() of @p to, add what @p from has counted; its own names are copied, so
 * that it and the symbols of its recording may go. Both with the same options, by samples: neither
 * branches nor operations. @p from is only read. CLEW_NO_MEMORY.
 */
enum clew_err report_feed_carry(struct report_feed *to, const struct report_feed *from,
				const struct report_carry *how);

/** Its files are in use: dso_touch(). */
void report_feed_touch(const struct report_feed *f);

/** After the run: number groups, rank names, sort. Everything below is valid after it. */
enum clew_err report_feed_finish(struct report_feed *f);

size_t report_feed_nr_events(const struct report_feed *f);
const struct report_event *report_feed_event(const struct report_feed *f, size_t i);
const struct report_sort *report_feed_sort(const struct report_feed *f);

struct report_table_opts {
	bool by_total;          /* --children */
	double min_share;       /* rows below this share of the period are omitted, 0 to 1 */
	bool is_relative_total; /* shares are of the kept samples, not of all */
	bool has_graphs;
	struct report_graph_opts graph; /* total and is_cumulative are set by report_table_make() */
};

/** Rows and graphs of one event, or of a group of events side by side. */
struct report_table {
	struct report_rows rows;
	struct report_graphs graphs;
	size_t nr_shown;   /* the first rows; those below the limit or filtered out follow */
	uint64_t *periods; /* by event: 100 % */
	size_t nr_events;
	const struct report_event **events;
};

/** @p events: indexes, nr_events of them. CLEW_NO_MEMORY. */
enum clew_err report_table_make(struct report_feed *f, const size_t *events, size_t nr_events,
				const struct report_table_opts *opts, struct report_table *ret);
void report_table_done(struct report_table *t);

/** Append a row's text for @p key: "bash", "[k] do_idle", "libc.so.6", ... Names as recorded,
 * control characters included. */
void report_feed_row_text(const struct report_feed *f, const struct report_row *row,
			  enum report_key key, struct buf *out);

/** The same as a number, for keys that are one: pid, tid, cpu (all ones: unknown), cgroup_id,
 * weight, cycles (0: not counted); of yes and no enum report_yes_no. @return false: the key is a
 * text. */
enum report_yes_no { REPORT_NOT_KNOWN, REPORT_NO, REPORT_YES };
bool report_feed_row_number(const struct report_feed *f, const struct report_row *row,
			    enum report_key key, uint64_t *ret);

/** A frame's own texts. */
struct report_frame_text {
	const char *sym;  /* NULL: unknown */
	const char *dso;  /* short name, "[unknown]" */
	uint64_t address; /* in the dso's terms */
	char level;       /* '.' user, 'k' kernel, 'g' guest kernel, 'u' guest user, 'H' */
	bool is_inlined;
};
struct report_frame_text report_feed_frame(const struct report_feed *f, uint32_t frame);

/** Names by which a frame is compared with those of other recordings. @p out: its function's is
 * appended. */
void report_feed_pair_function(const struct report_feed *f, uint32_t frame, struct buf *out);
/** As report_diff_file(). */
const char *report_feed_pair_file(const struct report_feed *f, uint32_t frame,
				  struct report_diff_files *files);

/** Where its function is declared, else its first line; after the run. @return false: unknown. */
bool report_feed_frame_source(const struct report_feed *f, uint32_t frame, const char **ret_file,
			      uint32_t *ret_line);

/** The frame that stands for a row's group. */
uint32_t report_feed_row_frame(const struct report_feed *f, const struct report_row *row);

/** The call paths, and what row each frame of them belongs to. */
const struct report_tree *report_feed_tree(const struct report_feed *f);
uint32_t report_feed_nr_groups(const struct report_feed *f);
uint32_t report_feed_group_of(const struct report_feed *f, uint32_t frame);
/** The frame that stands for a group. */
uint32_t report_feed_group_frame(const struct report_feed *f, uint32_t group);

/** Append what call graphs show for a frame: the symbol, or the address in hex. */
void report_feed_frame_name(const struct report_feed *f, uint32_t frame, struct buf *out);

/** Call @p emit for every distinct path of an event, outermost frame first. @p comm: the thread's
 * name when "comm" is a sort key, else NULL. */
enum clew_err report_feed_paths(const struct report_feed *f, size_t event,
				enum clew_err (*emit)(void *ctx, const char *comm,
						      const uint32_t *frames, size_t nr,
						      const struct report_weight *w),
				void *ctx);

#endif
