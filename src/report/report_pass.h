/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_PASS_H
#define REPORT_REPORT_PASS_H

#include "report/report_nest.h"

/**
 * One key's weights spread over the tree: what each node holds itself and with all below it.
 * The arrays cover the whole tree and are valid for the nodes of @p active alone.
 */
struct report_pass {
	const struct report_tree *tree;
	struct report_nest nest;     /* the same for all keys */
	uint64_t *self, *total, *nr; /* by node; nr: samples of the node itself */
	uint32_t *stamp;             /* by node: the load it was last active in */
	uint32_t load;
	struct {
		VEC(uint32_t); /* ascending: parents before their children; without the root */
	} active;
};

/** @p tree is borrowed and must not grow any more. @p group_of: by frame. CLEW_NO_MEMORY. */
enum clew_err report_pass_init(struct report_pass *p, const struct report_tree *tree,
			       const uint32_t *group_of, uint32_t nr_groups);

/**
 * Take the weights [first, first + n) of one key, which starts at @p first.
 * @p ret_next: index after them. O(weights and their nodes), plus sorting the nodes.
 * CLEW_NO_MEMORY.
 */
enum clew_err report_pass_load(struct report_pass *p, const struct report_weights *w, size_t first,
			       size_t *ret_next);

static inline bool report_pass_has(const struct report_pass *p, uint32_t node)
{
	return p->stamp[node] == p->load;
}

void report_pass_done(struct report_pass *p);

#endif
