/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_REACH_H
#define FLOW_ETM_ETM_REACH_H

#include "flow/etm/etm_blocks.h"

/*
 * How many T32 instructions stand between two addresses. Their lengths differ, so the way is a
 * walk; but wherever a walk comes from, it enters a page at its first or second halfword. How it
 * leaves from there is kept: what exceptions with made-up addresses ask for again and again.
 */
struct etm_reach {
	struct etm_reach_page *pages; /* NULL: none is kept yet */
};

void etm_reach_done(struct etm_reach *r); /* and to forget all */

/** etm_blocks_count(), with @p r to remember. */
uint32_t etm_reach_count(struct etm_reach *r, struct etm_blocks *b, uint32_t space, enum isa isa,
			 uint64_t from, uint64_t to, uint64_t *ret_readable);

#endif
