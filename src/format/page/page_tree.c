/* SPDX-License-Identifier: LGPL-2.1-or-later */
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

void page_tree_done(struct page_tree *t)
{
	report_tree_done(&t->tree);
	mem_free(t->node_of);
}
