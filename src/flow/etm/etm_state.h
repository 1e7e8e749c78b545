/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_STATE_H
#define FLOW_ETM_ETM_STATE_H

#include "flow/etm/etm_flow_impl.h"

/* What flow_front.save keeps, besides the queue. */
/* clang-format off */
#define ETM_STATE_FIELDS(X) \
	X(packets) X(sync) X(was_overflow) X(depth) X(nr_placeholders) X(pending) X(has_pending) \
	X(repeats_ids)
/* clang-format on */

struct etm_state {
#define X(name) __typeof__(((struct etm_flow *)NULL)->name) name;
	ETM_STATE_FIELDS(X)
#undef X
	struct {
		VEC(struct etm_elem);
	} queue; /* what waits, a copy */
};

bool etm_state_save(void *state, const struct flow *flow);
bool etm_state_restore(const void *state, struct flow *flow);
void etm_state_done(void *state);

#endif
