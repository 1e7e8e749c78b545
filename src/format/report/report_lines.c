/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_lines.h"

#include "base/search.h"
#include "format/report/report_text_impl.h"

struct report_lines {
	struct report_writer w;
	struct report_text_opts opts;
	size_t measured[REPORT_NR_KEYS], widths[REPORT_NR_KEYS];
	bool *is_last;    /* by node of all graphs */
	uint32_t *row_of; /* by graph */
};

/* --- graphs --- */

static struct report_branches branches_of(const struct report_lines *l,
					  const struct report_graph *g)
{
	return (struct report_branches){.nodes = l->w.table->graphs.nodes.data + g->first,
					.nr = g->nr,
					.is_last = l->is_last + g->first,
					.whole = l->w.table->periods[0]};
}

static const struct report_graph *graph_of_row(const struct report_lines *l, size_t row)
{
	uint32_t graph = l->w.table->rows.rows.data[row].graph;

	if (l->opts.style == REPORT_GRAPH_NONE || graph == REPORT_NONE)
		return NULL;
	return &l->w.table->graphs.graphs.data[graph];
}

static const struct report_graph *graph_of_node(const struct report_lines *l, uint32_t node)
{
	const struct report_graphs *g = &l->w.table->graphs;

	return &g->graphs.data[search_first(g->graphs.nr, i, g->graphs.data[i].first > node) - 1];
}

static bool mark_last(struct report_lines *l)
{
	const struct report_graphs *g = &l->w.table->graphs;
	bool ok = true;

	l->is_last = mem_calloc(g->nodes.nr ? g->nodes.nr : 1, sizeof(*l->is_last));
	vec_for_each (&g->graphs, graph) {
		struct report_branches b = branches_of(l, graph);

		ok = ok && l->is_last && report_branches_mark_last(&b);
	}
	l->row_of = mem_calloc(g->graphs.nr ? g->graphs.nr : 1, sizeof(*l->row_of));
	for (uint32_t i = 0; l->row_of && i < l->w.table->nr_shown; i++) {
		if (l->w.table->rows.rows.data[i].graph != REPORT_NONE)
			l->row_of[l->w.table->rows.rows.data[i].graph] = i;
	}
	return ok && l->is_last && l->row_of;
}

/* --- lines below others --- */

static bool push(struct report_line_nodes *ret, const struct report_graph *g, size_t at,
		 enum report_line_kind kind)
{
	return vec_push(ret, (struct report_line_node){(uint32_t)(g->first + at), kind});
}

/* What continues @p b's node @p i without a fork, and the branches of the fork after it. */
static bool add_run(const struct report_lines *l, const struct report_graph *g, size_t i,
		    struct report_line_nodes *ret)
{
	const struct report_branches b = branches_of(l, g);
	uint32_t depth;
	bool ok = true;

	for (i++; ok && report_branches_continues(&b, i, &l->opts); i++)
		ok = push(ret, g, i, REPORT_LINE_FRAME);
	if (b.nodes[i - 1].nr_more)
		ok = ok && push(ret, g, i - 1, REPORT_LINE_MORE);
	depth = b.nodes[i - 1].depth;
	for (; ok && i < b.nr && b.nodes[i].depth > depth; i++) {
		if (b.nodes[i].depth == depth + 1)
			ok = push(ret, g, i, REPORT_LINE_BRANCH);
	}
	return ok;
}

static uint64_t row_period(const struct report_lines *l, size_t row)
{
	const struct report_rows *rows = &l->w.table->rows;
	const struct report_value *v = report_row_value(rows, &rows->rows.data[row], 0);

	return l->opts.by_total ? v->total : v->self;
}

/* Does the graph begin with one frame of all the row's samples? */
static bool has_trunk(const struct report_lines *l, size_t row, const struct report_graph *g)
{
	return l->is_last[g->first] &&
	       l->w.table->graphs.nodes.data[g->first].period == row_period(l, row);
}

bool report_lines_row_opens(const struct report_lines *l, size_t row)
{
	return graph_of_row(l, row) != NULL;
}

bool report_lines_node_opens(const struct report_lines *l, struct report_line_node n)
{
	const struct report_graph *g = graph_of_node(l, n.node);
	const struct report_graph_node *all = l->w.table->graphs.nodes.data;

	if (n.kind != REPORT_LINE_BRANCH)
		return false;
	return all[n.node].nr_more ||
	       (n.node + 1 < g->first + g->nr && all[n.node + 1].depth > all[n.node].depth);
}

bool report_lines_below_row(const struct report_lines *l, size_t row, struct report_line_nodes *ret)
{
	const struct report_graph *g = graph_of_row(l, row);
	bool ok = true;

	if (!g)
		return true;
	if (has_trunk(l, row, g))
		return push(ret, g, 0, REPORT_LINE_FRAME) && add_run(l, g, 0, ret);
	for (size_t i = 0; i < g->nr && ok; i++) {
		if (!l->w.table->graphs.nodes.data[g->first + i].depth)
			ok = push(ret, g, i, REPORT_LINE_BRANCH);
	}
	return ok;
}

bool report_lines_below_node(const struct report_lines *l, struct report_line_node n,
			     struct report_line_nodes *ret)
{
	const struct report_graph *g = graph_of_node(l, n.node);

	return n.kind != REPORT_LINE_BRANCH || add_run(l, g, n.node - g->first, ret);
}

/* --- texts --- */

void report_lines_titles(struct report_lines *l, struct buf *out)
{
	bool keeps_ends = l->opts.keeps_ends;

	l->opts.keeps_ends = false; /* titles are known by how they begin */
	report_put_head(&l->w, l->widths, false);
	l->opts.keeps_ends = keeps_ends;
	if (l->w.out.nr && !l->opts.separator)
		l->w.out.data[0] = ' '; /* '#' */
	report_take_line(&l->w, out);
}

bool report_lines_row(struct report_lines *l, size_t row, struct buf *out)
{
	report_put_row(&l->w, &l->w.table->rows.rows.data[row], l->widths);
	return report_take_line(&l->w, out);
}

/* What a branch's share is of. */
static uint64_t whole_of(const struct report_lines *l, uint32_t node)
{
	const struct report_graph *g = graph_of_node(l, node);
	const struct report_graph_node *all = l->w.table->graphs.nodes.data;
	uint32_t depth = all[node].depth, i = node;

	if (!l->opts.is_relative)
		return l->w.table->periods[0];
	while (i > g->first && all[i].depth >= depth)
		i--;
	return all[i].depth < depth ? all[i].period - all[i].self
				    : row_period(l, l->row_of[g - l->w.table->graphs.graphs.data]);
}

bool report_lines_node(struct report_lines *l, struct report_line_node n, size_t columns,
		       struct buf *out)
{
	const struct report_graph_node *node = &l->w.table->graphs.nodes.data[n.node];
	size_t before = out->nr, used;

	if (n.kind == REPORT_LINE_MORE) {
		report_put_nr_more(&l->w, node->nr_more);
		return report_take_line(&l->w, out);
	}
	if (n.kind == REPORT_LINE_BRANCH) {
		report_put_amount(&l->w, node->period, whole_of(l, n.node));
		buf_char(&l->w.out, ' ');
		report_take_line(&l->w, out);
	}
	used = report_line_columns(out->data + before, out->nr - before);
	report_put_frame(&l->w, node->frame,
			 !columns         ? SIZE_MAX
			 : columns > used ? columns - used
					  : 1);
	return report_take_line(&l->w, out);
}

/* --- life --- */

void report_lines_set_columns(struct report_lines *l, size_t columns)
{
	l->opts.columns = columns;
	memcpy(l->widths, l->measured, sizeof(l->widths));
	report_limit_widths(&l->w, l->widths);
}

enum clew_err report_lines_new(struct report_lines **ret, const struct report_feed *f,
			       const struct report_table *t, const struct report_text_opts *opts)
{
	struct report_lines *l = mem_zalloc(sizeof(*l));

	if (!l)
		return CLEW_NO_MEMORY;
	l->opts = *opts;
	l->w = (struct report_writer){.feed = f, .table = t, .opts = &l->opts};
	report_measure(&l->w, l->measured);
	report_lines_set_columns(l, opts->columns);
	if (!mark_last(l) || l->w.cell.is_failed) {
		report_lines_free(l);
		return CLEW_NO_MEMORY;
	}
	*ret = l;
	return CLEW_OK;
}

void report_lines_free(struct report_lines *l)
{
	if (!l)
		return;
	buf_done(&l->w.out);
	buf_done(&l->w.cell);
	mem_free(l->is_last);
	mem_free(l->row_of);
	mem_free(l);
}
