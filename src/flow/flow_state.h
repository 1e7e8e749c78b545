/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_STATE_H
#define FLOW_FLOW_STATE_H

#include "flow/flow_core.h"

/*
 * The state of decoding, without the cache: enough for the same flow to resume there later, after
 * it decoded something else. Numbers of blocks and paths are those of its cache, which must not
 * have been cleared in between.
 */

/* clang-format off */
#define FLOW_STATE_FIELDS(X) \
	X(offset) X(pc) X(isa) X(needs_address) X(needs_context) X(popping) X(no_push) X(context) X(ticks) X(shown) X(bound) X(nr_switches) \
	X(may_have_switched) \
	X(space) X(at) X(from) X(stack) X(stack_top) X(stack_nr) X(reported) X(last_edge) \
	X(has_own_ticks) X(nr_dropped) X(dropped_at) X(is_begun)
/* clang-format on */

struct flow_state {
#define X(name) __typeof__(((struct flow *)NULL)->name) name;
	FLOW_STATE_FIELDS(X)
#undef X
	const struct flow_front *front;
	void *own; /* the front end's; NULL: nothing was saved yet */
};

/** @return false: out of memory. */
bool flow_state_save(struct flow_state *s, const struct flow *f);
/** An error of the flow's is forgotten. @return false: out of memory. */
bool flow_state_restore(const struct flow_state *s, struct flow *f);
void flow_state_done(struct flow_state *s);

#endif
