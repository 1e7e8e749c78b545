/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "format/page/page_impl.h"

enum clew_err page_tree_make(struct page_tree *t, const struct report_feed *f)
{
	const struct report_tree *from = report_feed_tree(f);
	enum clew_err err;

	t->node_of = mem_calloc(from->nodes.nr, sizeof(*t->node_of));
	err = t->node_of ? report_tree_init(&t->tree, from->limit) : CLEW_NO_MEMORY;
	for (uint32_t i = 1; i < from->nodes.nr && err == CLEW_OK; i++) {
		const struct report_node *n = &from->nodes.data[i];

		err = report_tree_child(&t->tree, t->node_of[n->parent],
					report_feed_group_of(f, n->frame), &t->node_of[i]);
	}
	return err == CLEW_LIMIT ? CLEW_NO_MEMORY : err; /* it is no larger than the other */
}

struct stack {
	uint64_t nr;
	uint32_t node;
};

static int by_nr(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return x->node < y->node ? -1 : 1;
}

static enum clew_err count_rows(const struct page_tree *t, struct page_feed *p,
				struct stack *stacks)
{
	size_t n;

	for (uint64_t at = 0; at < p->nr; at += n) {
		n = page_rows_read(p, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n; i++)
			stacks[t->node_of[p->rows[i].node]].nr++;
	}
	return CLEW_OK;
}

enum clew_err page_tree_count(struct page_tree *t, struct page_feed *p)
{
	size_t nr = t->tree.nodes.nr;
	struct stack *stacks = mem_calloc(nr, sizeof(*stacks));
	enum clew_err err;

	t->stacks = mem_calloc(nr, sizeof(*t->stacks));
	t->stack_of = mem_calloc(nr, sizeof(*t->stack_of));
	err = stacks && t->stacks && t->stack_of ? count_rows(t, p, stacks) : CLEW_NO_MEMORY;
	for (uint32_t i = 0; i < nr && err == CLEW_OK; i++)
		stacks[i].node = i;
	if (err == CLEW_OK)
		qsort(stacks, nr, sizeof(*stacks), by_nr);
	for (uint32_t i = 0; i < nr && err == CLEW_OK && stacks[i].nr; i++) {
		t->stacks[i] = stacks[i].node;
		t->stack_of[stacks[i].node] = i;
		t->nr_stacks++;
	}
	mem_free(stacks);
	return err;
}

void page_tree_done(struct page_tree *t)
{
	report_tree_done(&t->tree);
	mem_free(t->node_of);
	mem_free(t->stacks);
	mem_free(t->stack_of);
}
