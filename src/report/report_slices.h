/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_SLICES_H
#define REPORT_REPORT_SLICES_H

#include "report/report_tree.h"

/*
 * Calls of one thread as slices of time, made of its stacks one after the other: what two of them
 * have in common stays open. A stack is a node of a tree.
 *
 *	stacks at 0, 10, 20:      main-work-leaf, main-work, main-idle
 *	slices:                   main 0-, work 0-20, leaf 0-10, idle 20-
 */
struct report_slice {
	uint32_t node;
	uint64_t from;
};

/** Zeroed: none is open. */
struct report_slices {
	struct {
		VEC(struct report_slice);
	} open; /* outermost first */
};

/** How many of the open ones are on the way to @p node, too. */
size_t report_slices_common(const struct report_slices *s, const struct report_tree *t,
			    uint32_t node);

/** The innermost open one ends, if there are more than @p keep. Valid until the next call. NULL:
 * there are not. */
const struct report_slice *report_slices_end(struct report_slices *s, size_t keep);

/** Whatever is on the way to @p node and not open begins. What is open is on that way.
 * @return false: no memory. */
bool report_slices_begin(struct report_slices *s, const struct report_tree *t, uint32_t node,
			 uint64_t from);

void report_slices_done(struct report_slices *s);

#endif
