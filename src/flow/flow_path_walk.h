/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_PATH_WALK_H
#define FLOW_FLOW_PATH_WALK_H

#include "flow/flow_core.h"

/* Paths that are new. */

/** The block at an address from the return stack. @return FLOW_NO_BLOCK: out of memory. */
uint32_t flow_return_block(struct flow *f, const struct flow_return *r);

/** Walk a new path, and keep it. @p nr letters. @return NULL: it begins with what only the
 * plain walk can do; or the cache is full; or out of memory (flow.err). Valid until the next
 * call. */
struct flow_path *flow_path_walk(struct flow *f, uint32_t from, uint64_t key, unsigned int nr,
				 uint64_t to);

#endif
