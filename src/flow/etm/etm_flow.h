/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_FLOW_H
#define FLOW_ETM_ETM_FLOW_H

#include "flow/flow.h"
#include "packet/etm/etm_packet.h"

/*
 * ETMv4 and ETE packets + code -> what was executed. P0 elements wait in a queue until they are
 * committed or cancelled (etm_queue.c); committed ones are performed (etm_walk.c). Packets that
 * need no queue are performed at once (etm_straight.c). Parts for other threads begin at an async
 * (etm_cut.c); a unit that speculates is decoded by one thread.
 * Spec: IHI 0064 "Trace analyzer: processing elements"; docs/spec/coresight.md.
 */

struct etm_flow_opts {
	struct flow_opts flow;
	const struct etm_config *config; /* borrowed */
	bool splits_source_ranges; /* a range of a source address element ends at each N waypoint */
	bool goes_plain;           /* tests: no packet goes the straight way */
};

/** @return NULL: out of memory. */
struct flow *etm_flow_new(const struct etm_flow_opts *opts);

#endif
