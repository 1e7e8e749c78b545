/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_WALK_H
#define FLOW_FLOW_WALK_H

#include "flow/flow_core.h"

/*
 * Execution, branch by branch. Functions that return bool: false: decoding has ended (f->err), or
 * the code or the stream does not fit, and flow_front.lose() was called.
 */

/** Nothing is known of where execution is, nor in which context. */
void flow_forget(struct flow *f);

/** Execution goes on there, as is known without the trace. */
void flow_move_to(struct flow *f, uint64_t pc, enum isa isa);
/** Where it goes on only the trace knows. */
void flow_lose_place(struct flow *f);
/** The trace says that it goes on there. */
void flow_go_to(struct flow *f, uint64_t address, enum isa isa);

/** The next waypoint was taken, or not. */
bool flow_step(struct flow *f, bool is_taken);
/** Instructions ran up to, and without, the one at @p end: where an exception came. */
void flow_run_to(struct flow *f, uint64_t end);

/* What flow_step() is made of. */

/** If an indirect branch came last: no address follows, so that it went to where its call was. */
bool flow_pop(struct flow *f);
/** f->at is the block at f->pc. */
bool flow_here(struct flow *f);
/** After block @p at, whose waypoint was taken. */
void flow_take(struct flow *f, uint32_t at);
/** After block f->at, whose waypoint was not taken. */
bool flow_fall_through(struct flow *f);
/** All of a block that ends without a waypoint. */
bool flow_step_broken(struct flow *f, const struct flow_block *b);
/** FLOW_EV_RANGE */
void flow_put_range(struct flow *f, uint64_t from, uint64_t to, uint32_t nr_insns);

#endif
