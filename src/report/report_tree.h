/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_TREE_H
#define REPORT_REPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/budget.h"
#include "base/vec.h"

/*
 * Call paths with weights. A path is a node of one tree that all events share: from the root over
 * the outermost caller to the sampled frame. Frames and keys (what samples differ by besides their
 * frames: thread name, CPU, ...) are the caller's small numbers.
 *
 *	root 0 - main 1 - work 2 - leaf 3          weight (key, node 3, 12 samples, 12000 ns)
 *	                \ idle 4                   a child's number is above its parent's
 */
enum { REPORT_ROOT = 0, REPORT_NONE = UINT32_MAX };

struct report_node {
	uint32_t parent, frame; /* the root's: REPORT_NONE */
	uint32_t last_child;    /* found last, as it mostly is the next time; 0: none */
};

struct report_tree {
	struct {
		VEC(struct report_node);
	} nodes;
	uint32_t *slots; /* node number; 0: empty, as the root is never looked up */
	size_t cap;
	uint32_t limit;                /* most nodes */
	struct budget_account account; /* of the tree, what is made of it, and all weights */
};

struct report_weight {
	uint32_t key, node;
	uint64_t nr, period;
};

/** Of one event. */
struct report_weights {
	struct {
		VEC(struct report_weight);
	} all;
	uint32_t *slots; /* index + 1; 0: empty */
	size_t cap;
};

/** @p limit: most nodes; 0: the default of 4 Mi (about 100 MB while it grows). */
enum clew_err report_tree_init(struct report_tree *t, uint32_t limit);
void report_tree_done(struct report_tree *t);

/**
 * The node of @p frame called by @p parent, created if missing. O(1).
 * @return CLEW_NO_MEMORY; CLEW_LIMIT: the tree is full, or the budget; then *ret is unchanged.
 */
enum clew_err report_tree_child(struct report_tree *t, uint32_t parent, uint32_t frame,
				uint32_t *ret);

/** Add one sample, or @p nr of them, of a node of @p t. @return CLEW_OK, CLEW_NO_MEMORY;
 * CLEW_LIMIT: the budget has no room. O(1). */
enum clew_err report_weights_add(struct report_weights *w, struct report_tree *t, uint32_t key,
				 uint32_t node, uint64_t nr, uint64_t period);

/** Into order of key, then node. Adding afterwards is not possible: the lookup table is freed. */
void report_weights_sort(struct report_weights *w);
void report_weights_done(struct report_weights *w);

#endif
