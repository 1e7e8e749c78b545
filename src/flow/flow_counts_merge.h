/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_COUNTS_MERGE_H
#define FLOW_FLOW_COUNTS_MERGE_H

#include "flow/flow_core.h"

/** Count in @p to what @p from counted, which has nothing after that. @return false: out of memory.
 * Cost: as many look-ups as @p from has blocks. */
bool flow_counts_merge(struct flow *to, struct flow *from);

#endif
