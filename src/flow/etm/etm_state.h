/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_STATE_H
#define FLOW_ETM_ETM_STATE_H

#include "flow/etm/etm_flow_impl.h"

/*
 * Where decoding stands, without what it has learnt: enough for the same etm_flow to go on from
 * there later, after it decoded something else. Numbers of blocks and paths are those of its cache,
 * which must not have been cleared in between.
 */

/* clang-format off */
#define ETM_STATE_FIELDS(X) \
	X(packets) X(sync) X(was_overflow) X(is_begun) X(offset) X(depth) X(nr_placeholders) \
	X(pending) X(has_pending) \
	X(pc) X(isa) X(needs_address) X(needs_context) X(is_popping) X(no_push) X(context) X(ticks) \
	X(bound) X(space) X(at) X(from) X(stack) X(stack_top) X(stack_nr) \
	X(unsupported) X(last_edge) X(has_own_ticks) X(nr_dropped) X(dropped_at)
/* clang-format on */

struct etm_state {
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
