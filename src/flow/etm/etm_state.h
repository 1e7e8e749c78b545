/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_STATE_H
#define FLOW_ETM_ETM_STATE_H

#include "flow/etm/etm_flow_impl.h"
#include "flow/flow_state.h"

/** flow_state, with the front end's own. */

/* clang-format off */
#define ETM_STATE_FIELDS(X) \
	X(packets) X(sync) X(was_overflow) X(is_begun) X(depth) X(nr_placeholders) \
	X(pending) X(has_pending) X(is_popping) X(no_push)
/* clang-format on */

struct etm_state {
	struct flow_state flow;
#define X(name) __typeof__(((struct etm_flow *)NULL)->name) name;
	ETM_STATE_FIELDS(X)
#undef X
	struct {
		VEC(struct etm_elem);
	} queue; /* what waits, a copy */
};

/** @return false: out of memory. */
bool etm_state_save(struct etm_state *s, const struct etm_flow *f);
/** An error of the flow's is forgotten. @return false: out of memory. */
bool etm_state_restore(const struct etm_state *s, struct etm_flow *f);
void etm_state_done(struct etm_state *s);

#endif
