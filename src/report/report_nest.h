/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_NEST_H
#define REPORT_REPORT_NEST_H

#include <stdbool.h>

#include "report/report_tree.h"

/** Of each node of a tree with frames in groups; arrays by node, of no meaning for the root.
 */
struct report_nest {
	uint32_t *outer; /* the nearest caller in the same group; REPORT_ROOT: none */
	uint32_t *depth; /* callers, whatever their group */
};

/** @p group_of: by frame, each below @p nr_groups. O(nodes + groups). @return false: no memory. */
bool report_nest_make(struct report_nest *n, const struct report_tree *tree,
		      const uint32_t *group_of, uint32_t nr_groups);
void report_nest_done(struct report_nest *n);

#endif
