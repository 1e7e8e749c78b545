/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum {
	MAX_NODES = 16 << 20,
	MAX_STEPS = 16 << 20 /* of all walks below max_depth */
};

/* A place in the tree that belongs to one branch of the graph being made. */
struct item {
	uint32_t frame, node;
	uint64_t amount;
	bool is_whole; /* callers first: on the way from the root to the row's own samples */
};

/* A branch found and not yet looked into; its items are the last of the pool. */
struct branch {
	uint32_t frame, depth;
	size_t nr_items;
	uint64_t period;
};

struct builder {
	struct report_graphs *out;
	const struct report_pass *pass;
	const struct report_tree *tree;
	const struct report_grouping *grouping;
	const uint32_t *frame_rank;
	const struct report_graph_opts *opts;

	/* by node, valid where the pass is active */
	uint32_t *first_child, *next_sibling, *next_in_row;
	/* by node, valid where sub_stamp is the row at hand. Callers first: samples of the row's
	 * own frames at or below; callees first: samples that a deeper frame of the row has */
	uint64_t *sub;
	uint32_t *sub_stamp, serial;
	/* callers first, valid where sub_stamp is: children with samples of the row's own frames */
	uint32_t *sub_child, *sub_sibling;
	/* by group: the wanted row of the key at hand */
	uint32_t *head, *head_stamp, key_serial;

	struct {
		VEC(struct item);
	} pool, found;
	struct {
		VEC(struct branch);
	} pending, kept;
	size_t nr_steps; /* taken below max_depth */
};

static uint32_t parent_of(const struct builder *b, uint32_t node)
{
	return b->tree->nodes.data[node].parent;
}

static uint32_t frame_of(const struct builder *b, uint32_t node)
{
	return b->tree->nodes.data[node].frame;
}

static bool is_in(const struct builder *b, uint32_t node, uint32_t group)
{
	return b->grouping->group_of[frame_of(b, node)] == group;
}

static uint64_t sub_of(const struct builder *b, uint32_t node)
{
	return b->sub_stamp[node] == b->serial ? b->sub[node] : 0;
}

/* @return was it the first time for this row? */
static bool add_sub(struct builder *b, uint32_t node, uint64_t amount)
{
	bool is_first = b->sub_stamp[node] != b->serial;

	b->sub[node] = is_first ? amount : b->sub[node] + amount;
	b->sub_stamp[node] = b->serial;
	return is_first;
}

static bool find(struct builder *b, uint32_t node, uint64_t amount, bool is_whole)
{
	return !amount ||
	       vec_push(&b->found, (struct item){frame_of(b, node), node, amount, is_whole});
}

/* Of a node seen for the first time, on the way from a deeper one or @p is_deepest. */
static void link_sub(struct builder *b, uint32_t node, bool is_deepest)
{
	uint32_t parent = parent_of(b, node);

	if (is_deepest)
		b->sub_child[node] = REPORT_NONE;
	if (parent == REPORT_ROOT)
		return;
	b->sub_sibling[node] =
		b->sub_stamp[parent] == b->serial ? b->sub_child[parent] : REPORT_NONE;
	b->sub_child[parent] = node;
}

/* Whole paths down to the row's own samples, and what its outermost frames call otherwise. */
static bool start_callers_first(struct builder *b, uint32_t head)
{
	for (uint32_t n = head; n != REPORT_NONE; n = b->next_in_row[n]) {
		uint64_t own = b->pass->self[n];

		for (uint32_t at = n; own && at != REPORT_ROOT; at = parent_of(b, at)) {
			if (!add_sub(b, at, own))
				continue;
			link_sub(b, at, at == n);
			if (parent_of(b, at) == REPORT_ROOT && !find(b, at, own, true))
				return false;
		}
	}
	vec_for_each (&b->found, top)
		top->amount = b->sub[top->node];
	for (uint32_t n = head; b->opts->is_cumulative && n != REPORT_NONE; n = b->next_in_row[n]) {
		if (b->pass->nest.outer[n] == REPORT_ROOT &&
		    !find(b, n, b->pass->total[n] - sub_of(b, n), false))
			return false;
	}
	return true;
}

/* Each sample starts at its innermost frame of the row. */
static bool start_callees_first(struct builder *b, uint32_t head)
{
	for (uint32_t n = head; b->opts->is_cumulative && n != REPORT_NONE; n = b->next_in_row[n]) {
		uint32_t caller = b->pass->nest.outer[n];

		if (caller != REPORT_ROOT)
			add_sub(b, caller, b->pass->total[n]);
	}
	for (uint32_t n = head; n != REPORT_NONE; n = b->next_in_row[n]) {
		uint64_t amount = b->opts->is_cumulative ? b->pass->total[n] - sub_of(b, n)
							 : b->pass->self[n];

		if (!find(b, n, amount, false))
			return false;
	}
	return true;
}

/* A row may have one of a node's hundred thousand children. */
static bool expand_whole(struct builder *b, uint32_t node)
{
	for (uint32_t c = b->sub_child[node]; c != REPORT_NONE; c = b->sub_sibling[c]) {
		if (!find(b, c, b->sub[c], true))
			return false;
	}
	return true;
}

static bool expand_rest(struct builder *b, uint32_t node)
{
	for (uint32_t c = b->first_child[node]; c != REPORT_NONE; c = b->next_sibling[c]) {
		if (!find(b, c, b->pass->total[c] - sub_of(b, c), false))
			return false;
	}
	return true;
}

static bool expand(struct builder *b, const struct item *it)
{
	if (b->opts->is_callee) {
		uint32_t caller = parent_of(b, it->node);

		return caller == REPORT_ROOT || find(b, caller, it->amount, false);
	}
	return it->is_whole ? expand_whole(b, it->node) : expand_rest(b, it->node);
}

/* What of the item's amount ends at its frame. */
static uint64_t self_of(const struct builder *b, const struct item *it, uint32_t group)
{
	if (b->opts->is_callee)
		return parent_of(b, it->node) == REPORT_ROOT ? it->amount : 0;
	return is_in(b, it->node, group) == it->is_whole ? b->pass->self[it->node] : 0;
}

static int by_frame(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int largest_last(const void *x, const void *y, void *arg)
{
	const struct branch *a = x, *b = y;
	const uint32_t *rank = arg;

	if (a->period != b->period)
		return a->period < b->period ? -1 : 1;
	return rank[a->frame] > rank[b->frame] ? -1 : rank[a->frame] < rank[b->frame];
}

/* The items of one frame as [first, first + nr) of found, which is sorted by frame. */
static size_t run_of(const struct builder *b, size_t first, uint64_t *ret_period)
{
	size_t i = first;

	*ret_period = 0;
	for (; i < b->found.nr && b->found.data[i].frame == b->found.data[first].frame; i++)
		*ret_period += b->found.data[i].amount;
	return i - first;
}

static size_t item_run(const struct builder *b, uint32_t frame)
{
	return search_first(b->found.nr, i, b->found.data[i].frame >= frame);
}

/* Group what was found by frame, and put the branches above the limit onto the stack. @p above:
 * the period the limit is a share of. */
static bool push_branches(struct builder *b, uint32_t depth, uint64_t above)
{
	double limit = b->opts->min_share * (double)(b->opts->is_relative ? above : b->opts->total);
	size_t skip = 0;

	b->kept.nr = 0;
	if (b->found.nr)
		qsort(b->found.data, b->found.nr, sizeof(*b->found.data), by_frame);
	for (size_t i = 0, nr; i < b->found.nr; i += nr) {
		uint64_t period;

		nr = run_of(b, i, &period);
		if ((double)period >= limit &&
		    !vec_push(&b->kept, (struct branch){b->found.data[i].frame, depth, nr, period}))
			return false;
	}
	if (!b->kept.nr)
		return true;
	qsort_r(b->kept.data, b->kept.nr, sizeof(*b->kept.data), largest_last,
		(void *)(uintptr_t)b->frame_rank);
	if (b->opts->max_leaves && b->kept.nr > b->opts->max_leaves)
		skip = b->kept.nr - b->opts->max_leaves;
	for (size_t k = skip; k < b->kept.nr; k++) {
		const struct branch *br = &b->kept.data[k];
		size_t first = item_run(b, br->frame);

		for (size_t i = 0; i < br->nr_items; i++) {
			if (!vec_push(&b->pool, b->found.data[first + i]))
				return false;
		}
		if (!vec_push(&b->pending, *br))
			return false;
	}
	return true;
}

/* Is a branch of those found above the limit, so that the graph would continue? */
static bool goes_on(const struct builder *b, uint64_t above)
{
	double limit = b->opts->min_share * (double)(b->opts->is_relative ? above : b->opts->total);
	uint64_t period;

	for (size_t i = 0, nr; i < b->found.nr; i += nr) {
		nr = run_of(b, i, &period);
		if ((double)period >= limit)
			return true;
	}
	return false;
}

/* Where the graph ends at its depth limit: by how many frames the longest of the paths found
 * continues. Less if there are too many walks. */
static bool count_more(struct builder *b, uint64_t above, uint32_t *ret)
{
	*ret = 0;
	if (b->found.nr)
		qsort(b->found.data, b->found.nr, sizeof(*b->found.data), by_frame);
	if (!goes_on(b, above))
		return true;
	while (b->found.nr) {
		size_t nr = b->found.nr;

		++*ret;
		b->nr_steps += nr;
		if (b->nr_steps > MAX_STEPS)
			return true;
		for (size_t i = 0; i < nr; i++) {
			struct item it = b->found.data[i];

			if (!expand(b, &it))
				return false;
		}
		b->found.nr -= nr;
		memmove(b->found.data, b->found.data + nr, b->found.nr * sizeof(struct item));
	}
	return true;
}

/* The newest branch becomes a node; what it leads to is found. */
static bool pop_branch(struct builder *b, uint32_t group)
{
	struct branch br = b->pending.data[--b->pending.nr];
	struct report_graph_node node = {.frame = br.frame, .depth = br.depth, .period = br.period};

	b->found.nr = 0;
	b->pool.nr -= br.nr_items;
	for (size_t i = 0; i < br.nr_items; i++) {
		const struct item *it = &b->pool.data[b->pool.nr + i];

		node.self += self_of(b, it, group);
		if (!expand(b, it))
			return false;
	}
	if (b->opts->max_depth && br.depth + 1 >= b->opts->max_depth)
		return count_more(b, br.period - node.self, &node.nr_more) &&
		       vec_push(&b->out->nodes, node);
	return vec_push(&b->out->nodes, node) &&
	       push_branches(b, br.depth + 1, br.period - node.self);
}

static enum clew_err make_graph(struct builder *b, struct report_row *row, uint64_t period)
{
	size_t first = b->out->nodes.nr;
	uint32_t head = b->head[row->group];
	bool ok;

	if (first >= b->out->max_nodes) {
		b->out->is_cut = true;
		return CLEW_OK;
	}
	b->serial++;
	b->found.nr = b->pool.nr = b->pending.nr = 0;
	ok = b->opts->is_callee ? start_callees_first(b, head) : start_callers_first(b, head);
	ok = ok && push_branches(b, 0, period);
	while (ok && b->pending.nr) {
		if (b->out->nodes.nr >= b->out->max_nodes) {
			b->out->is_cut = true;
			break;
		}
		ok = pop_branch(b, row->group);
	}
	if (!ok)
		return CLEW_NO_MEMORY;
	if (b->out->nodes.nr == first)
		return CLEW_OK;
	row->graph = (uint32_t)b->out->graphs.nr;
	return vec_push(&b->out->graphs, (struct report_graph){first, b->out->nodes.nr - first})
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

/* For the key just loaded: children of each node, and the nodes of each wanted row. */
static void link_nodes(struct builder *b, const struct report_row *const *wanted, size_t nr)
{
	const struct report_pass *p = b->pass;

	b->key_serial++;
	for (size_t i = 0; i < nr; i++) {
		b->head_stamp[wanted[i]->group] = b->key_serial;
		b->head[wanted[i]->group] = REPORT_NONE;
	}
	vec_for_each (&p->active, n)
		b->first_child[*n] = REPORT_NONE;
	for (size_t i = p->active.nr; i-- > 0;) {
		uint32_t node = p->active.data[i], parent = parent_of(b, node);
		uint32_t group = b->grouping->group_of[frame_of(b, node)];

		if (parent != REPORT_ROOT) {
			b->next_sibling[node] = b->first_child[parent];
			b->first_child[parent] = node;
		}
		if (b->head_stamp[group] == b->key_serial) {
			b->next_in_row[node] = b->head[group];
			b->head[group] = node;
		}
	}
}

static int by_row_key(const void *x, const void *y)
{
	const struct report_row *a = *(struct report_row *const *)x,
				*b = *(struct report_row *const *)y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a < b ? -1 : a > b;
}

static uint64_t period_of(const struct builder *b, const struct report_rows *rows,
			  const struct report_row *row)
{
	const struct report_value *v = report_row_value(rows, row, 0);

	return b->opts->is_cumulative ? v->total : v->self;
}

/* Rows that can have a graph, in order of their keys as the weights are. */
static struct report_row **wanted_rows(const struct builder *b, struct report_rows *rows,
				       size_t nr_rows, size_t *ret_nr)
{
	double limit = b->opts->is_relative ? 0 : b->opts->min_share * (double)b->opts->total;
	struct report_row **wanted = mem_calloc(nr_rows, sizeof(struct report_row *));
	size_t nr = 0;

	for (size_t i = 0; wanted && i < nr_rows; i++) {
		uint64_t period = period_of(b, rows, &rows->rows.data[i]);

		if (period && (double)period >= limit)
			wanted[nr++] = &rows->rows.data[i];
	}
	if (nr)
		qsort(wanted, nr, sizeof(struct report_row *), by_row_key);
	*ret_nr = nr;
	return wanted;
}

static bool builder_init(struct builder *b)
{
	size_t nr = b->tree->nodes.nr, nr_groups = b->grouping->nr_groups;

	b->first_child = mem_calloc(nr, sizeof(uint32_t));
	b->next_sibling = mem_calloc(nr, sizeof(uint32_t));
	b->next_in_row = mem_calloc(nr, sizeof(uint32_t));
	b->sub = mem_calloc(nr, sizeof(uint64_t));
	b->sub_stamp = mem_calloc(nr, sizeof(uint32_t));
	b->sub_child = mem_calloc(nr, sizeof(uint32_t));
	b->sub_sibling = mem_calloc(nr, sizeof(uint32_t));
	b->head = mem_calloc(nr_groups, sizeof(uint32_t));
	b->head_stamp = mem_calloc(nr_groups, sizeof(uint32_t));
	return b->first_child && b->next_sibling && b->next_in_row && b->sub && b->sub_stamp &&
	       b->sub_child && b->sub_sibling && b->head && b->head_stamp;
}

static void builder_done(struct builder *b)
{
	mem_free(b->first_child);
	mem_free(b->next_sibling);
	mem_free(b->next_in_row);
	mem_free(b->sub);
	mem_free(b->sub_stamp);
	mem_free(b->sub_child);
	mem_free(b->sub_sibling);
	mem_free(b->head);
	mem_free(b->head_stamp);
	vec_done(&b->pool);
	vec_done(&b->found);
	vec_done(&b->pending);
	vec_done(&b->kept);
}

/* All graphs of one key. */
static enum clew_err make_key(struct builder *b, const struct report_rows *rows,
			      struct report_row *const *wanted, size_t nr)
{
	enum clew_err err = CLEW_OK;

	link_nodes(b, (const struct report_row *const *)wanted, nr);
	for (size_t i = 0; i < nr && err == CLEW_OK; i++)
		err = make_graph(b, wanted[i], period_of(b, rows, wanted[i]));
	return err;
}

static enum clew_err make_all(struct builder *b, struct report_pass *pass,
			      const struct report_weights *weights, const struct report_rows *rows,
			      struct report_row *const *wanted, size_t nr)
{
	const struct report_weight *w = weights->all.data;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0, at = 0, next; at < nr && i < weights->all.nr && err == CLEW_OK;
	     i = next) {
		size_t end = at;

		if (w[i].key != wanted[at]->key) { /* no row of this key is wanted */
			next = i + 1;
			continue;
		}
		while (end < nr && wanted[end]->key == w[i].key)
			end++;
		err = report_pass_load(pass, weights, i, &next);
		if (err == CLEW_OK)
			err = make_key(b, rows, wanted + at, end - at);
		at = end;
	}
	return err;
}

enum clew_err report_graphs_make(struct report_graphs *g, struct report_rows *rows, size_t nr_rows,
				 struct report_pass *pass, const struct report_weights *weights,
				 const struct report_grouping *grouping, const uint32_t *frame_rank,
				 const struct report_graph_opts *opts)
{
	struct builder b = {.out = g,
			    .pass = pass,
			    .tree = pass->tree,
			    .grouping = grouping,
			    .frame_rank = frame_rank,
			    .opts = opts};
	enum clew_err err = CLEW_NO_MEMORY;
	struct report_row **wanted;
	size_t nr = 0;

	*g = (struct report_graphs){.max_nodes = opts->max_nodes ? opts->max_nodes : MAX_NODES};
	wanted = wanted_rows(&b, rows, nr_rows, &nr);
	if (wanted && builder_init(&b))
		err = make_all(&b, pass, weights, rows, wanted, nr);
	builder_done(&b);
	mem_free(wanted);
	return err;
}

void report_graphs_done(struct report_graphs *g)
{
	vec_done(&g->nodes);
	vec_done(&g->graphs);
	*g = (struct report_graphs){0};
}
