/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_COUNTS_MERGE_H
#define FLOW_ETM_ETM_COUNTS_MERGE_H

#include "flow/etm/etm_flow_impl.h"

/** Count in @p to what @p from counted, which has nothing after that. @return false: out of memory.
 * Cost: as many look-ups as @p from has blocks. */
bool etm_counts_merge(struct etm_flow *to, struct etm_flow *from);

#endif
