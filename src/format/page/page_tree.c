/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "format/page/page_impl.h"

enum clew_err page_tree_make(struct page_tree *t, const struct report_feed *f)
{
	const struct report_tree *from = report_feed_tree(f);
	enum clew_err err;

	t->node_of = mem_calloc(from->nodes.nr + (size_t)PAGE_NR_SMALL, sizeof(*t->node_of));
	err = t->node_of ? report_tree_init(&t->tree, from->limit) : CLEW_NO_MEMORY;
	for (uint32_t i = 1; i < from->nodes.nr && err == CLEW_OK; i++) {
		const struct report_node *n = &from->nodes.data[i];

		err = report_tree_child(&t->tree, t->node_of[n->parent],
					report_feed_group_of(f, n->frame), &t->node_of[i]);
	}
	return err == CLEW_LIMIT ? CLEW_NO_MEMORY : err; /* it is no larger than the other */
}

unsigned int page_level_of(char letter)
{
	static const char letters[PAGE_NR_SMALL] = {'!', '.', 'k', 'u', 'g', 'H'};

	for (unsigned int i = 0; i < PAGE_NR_SMALL; i++) {
		if (letters[i] == letter)
			return i;
	}
	return 0;
}

static unsigned int level_of(const struct report_feed *f, uint32_t frame)
{
	uint32_t groups = report_feed_nr_groups(f);

	if (frame >= groups)
		return frame - groups;
	return page_level_of(report_feed_frame(f, report_feed_group_frame(f, frame)).level);
}

enum clew_err page_tree_add_levels(struct page_tree *t, const struct report_feed *f)
{
	mem_free(t->levels);
	t->levels = mem_calloc(t->tree.nodes.nr, sizeof(*t->levels));
	if (!t->levels)
		return CLEW_NO_MEMORY;
	for (size_t i = 1; i < t->tree.nodes.nr; i++)
		t->levels[i] = (uint8_t)level_of(f, t->tree.nodes.data[i].frame);
	return CLEW_OK;
}

enum clew_err page_tree_add_small(struct page_tree *t, const struct report_feed *f)
{
	uint32_t groups = report_feed_nr_groups(f);
	enum clew_err err = CLEW_OK;

	t->small_node = (uint32_t)report_feed_tree(f)->nodes.nr;
	t->tree.limit += PAGE_NR_SMALL; /* it may be full */
	for (uint32_t i = 0; i < PAGE_NR_SMALL && err == CLEW_OK; i++)
		err = report_tree_child(&t->tree, REPORT_ROOT, groups + i,
					&t->node_of[t->small_node + i]);
	return err;
}

struct counting {
	const struct page_tree *tree;
	uint64_t *nr_of;
};

static enum clew_err count_row(void *ctx, const struct page_row *r)
{
	const struct counting *c = ctx;

	c->nr_of[c->tree->node_of[r->node]]++;
	return CLEW_OK;
}

/* Rows of each node, without those below it. */
static enum clew_err count_rows(const struct page_tree *t, struct page_feed *p, uint64_t *nr_of)
{
	struct counting c = {t, nr_of};

	return page_rows_each(p, count_row, &c);
}

/* Samples of each node and below it. */
static enum clew_err sum_up(const struct page_tree *t, struct page_feed *p, uint64_t *sums)
{
	enum clew_err err = count_rows(t, p, sums);

	for (size_t i = t->tree.nodes.nr; i-- > 1;)
		sums[t->tree.nodes.data[i].parent] += sums[i];
	return err;
}

/** The smaller tree, and where the larger one's nodes are in it. */
struct pruned {
	struct report_tree tree;
	uint32_t *node_of, *caller_of; /* caller_of: of what is small, that which is not */
};

static enum clew_err prune_one(struct pruned *to, const struct page_tree *t,
			       const struct report_feed *f, uint32_t i, bool is_small)
{
	const struct report_node *n = &t->tree.nodes.data[i];
	uint32_t frame = n->frame;
	enum clew_err err;

	to->caller_of[i] = to->caller_of[n->parent];
	if (is_small)
		frame = report_feed_nr_groups(f) + level_of(f, frame);
	err = report_tree_child(&to->tree, to->caller_of[n->parent], frame, &to->node_of[i]);
	if (!is_small)
		to->caller_of[i] = to->node_of[i];
	return err;
}

static enum clew_err prune(struct page_tree *t, struct pruned *to, const struct report_feed *f,
			   const uint64_t *sums)
{
	enum { LEAST = 100000 };
	size_t nr = t->tree.nodes.nr, nr_nodes = report_feed_tree(f)->nodes.nr;
	enum clew_err err = report_tree_init(&to->tree, t->tree.limit);

	for (uint32_t i = 1; i < nr && err == CLEW_OK; i++) {
		bool is_small = sums[i] < sums[0] / LEAST;

		t->nr_small += is_small;
		err = prune_one(to, t, f, i, is_small);
	}
	for (size_t i = 0; i < nr_nodes && err == CLEW_OK; i++)
		t->node_of[i] = to->node_of[t->node_of[i]];
	return err;
}

enum clew_err page_tree_prune(struct page_tree *t, struct page_feed *p, const struct report_feed *f,
			      uint64_t max)
{
	size_t nr = t->tree.nodes.nr;
	struct pruned to = {0};
	uint64_t *sums;
	enum clew_err err;

	if (nr <= max)
		return CLEW_OK;
	sums = mem_calloc(nr, sizeof(*sums));
	to.node_of = mem_calloc(nr, sizeof(*to.node_of));
	to.caller_of = mem_calloc(nr, sizeof(*to.caller_of));
	err = sums && to.node_of && to.caller_of ? sum_up(t, p, sums) : CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = prune(t, &to, f, sums);
	if (err == CLEW_OK) {
		report_tree_done(&t->tree);
		t->tree = to.tree;
	} else {
		report_tree_done(&to.tree);
	}
	mem_free(sums);
	mem_free(to.node_of);
	mem_free(to.caller_of);
	return err == CLEW_LIMIT ? CLEW_NO_MEMORY : err;
}

static int by_nr(const void *a, const void *b, void *ctx)
{
	const uint64_t *nr_of = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (nr_of[x] != nr_of[y])
		return nr_of[x] > nr_of[y] ? -1 : 1;
	return x < y ? -1 : 1;
}

enum clew_err page_tree_count(struct page_tree *t, struct page_feed *p)
{
	size_t nr = t->tree.nodes.nr;
	uint64_t *nr_of = mem_calloc(nr, sizeof(*nr_of));
	enum clew_err err;

	t->stacks = mem_calloc(nr, sizeof(*t->stacks));
	t->stack_of = mem_calloc(nr, sizeof(*t->stack_of));
	err = nr_of && t->stacks && t->stack_of ? count_rows(t, p, nr_of) : CLEW_NO_MEMORY;
	if (err == CLEW_OK) {
		for (uint32_t i = 0; i < nr; i++)
			t->stacks[i] = i;
		qsort_r(t->stacks, nr, sizeof(*t->stacks), by_nr, nr_of);
		for (; t->nr_stacks < nr && nr_of[t->stacks[t->nr_stacks]]; t->nr_stacks++)
			t->stack_of[t->stacks[t->nr_stacks]] = t->nr_stacks;
	}
	mem_free(nr_of);
	return err;
}

void page_tree_done(struct page_tree *t)
{
	report_tree_done(&t->tree);
	mem_free(t->node_of);
	mem_free(t->levels);
	mem_free(t->stacks);
	mem_free(t->stack_of);
}
