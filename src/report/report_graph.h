/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_GRAPH_H
#define REPORT_REPORT_GRAPH_H

#include "report/report_rows.h"

/*
 * The call graph below a row, its small branches omitted. Two directions:
 *
 * callers first (is_callee false): where the row's frame itself was sampled, the whole path from
 * the outermost caller down to it; where it was only on the way, what it called.
 * callees first: the row's frame, then its callers outwards.
 */
struct report_graph_opts {
	bool is_callee;
	bool is_cumulative;  /* also the samples where the row's frame is not the sampled one */
	bool is_relative;    /* limits are a share of the branch above, not of @p total */
	double min_share;    /* of what is_relative says, 0 to 1; branches below are omitted */
	uint32_t max_leaves; /* branches kept at each fork; 0: all */
	uint32_t max_depth;  /* frames drawn one below the other; 0: all */
	size_t max_nodes;    /* of all graphs together; 0: 16 Mi */
	uint64_t total;      /* period of all samples */
};

/** In depth-first order, so that a node's branches follow it, largest first. */
struct report_graph_node {
	uint32_t frame;
	uint32_t depth;   /* 0: first frames of the graph */
	uint32_t nr_more; /* at max_depth: frames of the longest path that continues from here */
	uint64_t self;    /* paths that end here */
	uint64_t period;  /* paths through here */
};

struct report_graph {
	size_t first, nr; /* of nodes */
};

struct report_graphs {
	struct {
		VEC(struct report_graph_node);
	} nodes;
	struct {
		VEC(struct report_graph);
	} graphs;         /* report_row.graph is an index of it */
	size_t max_nodes; /* the limit that held */
	bool is_cut;      /* it ended some graphs early */
};

/**
 * Graphs for the first @p nr_rows rows, as far as they have one above the limits; sets their
 * report_row.graph. @p weights: the event's, as given to report_rows_make(). Ties go by
 * @p frame_rank. CLEW_NO_MEMORY. Cost: only branches above the limits are followed.
 */
enum clew_err report_graphs_make(struct report_graphs *g, struct report_rows *rows, size_t nr_rows,
				 struct report_pass *pass, const struct report_weights *weights,
				 const struct report_grouping *grouping, const uint32_t *frame_rank,
				 const struct report_graph_opts *opts);
void report_graphs_done(struct report_graphs *g);

#endif
