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

/** Execution continues there, as is known without the trace. */
void flow_move_to(struct flow *f, uint64_t pc, enum isa isa);
/** Only the trace knows where execution continues. */
void flow_lose_place(struct flow *f);
/** The trace says that execution continues there. */
void flow_go_to(struct flow *f, uint64_t address, enum isa isa);

/** The next waypoint was taken, or not. */
bool flow_step(struct flow *f, bool is_taken);
/** The trace has the target of the next indirect branch, which has no bit (flow_rules): up to and
 * with that branch; then call flow_go_to(). */
bool flow_step_indirect(struct flow *f);
/** A block without a bit, f->at, which is no indirect branch, ran, and its waypoint. */
bool flow_step_silent(struct flow *f);
/** To the block with the waypoint that is due, where execution is known. */
bool flow_find_waypoint(struct flow *f);
/** Instructions ran up to, and without, the one at @p end: where an exception came. Branches that
 * have a bit cannot be on the way. */
void flow_run_to(struct flow *f, uint64_t end);

/** What path @p p does from block f->at on, once. Of one that is cut see its flow_path_more. */
void flow_run_path(struct flow *f, const struct flow_path *p);

/** Branches in a row that are not reported; real ones: few. Of a block that is FLOW_BLOCK_LONG
 * FLOW_MAX_LONG. */
enum { FLOW_MAX_SILENT = 4096 };

/* What these are made of. */

/** If an indirect branch came last: no address follows, so that it went to where its call was. */
bool flow_pop(struct flow *f);
/** f->at is the block at f->pc. */
bool flow_here(struct flow *f);
/** After block @p at; its waypoint was taken. */
void flow_take(struct flow *f, uint32_t at);
/** After block f->at; its waypoint was not taken. */
bool flow_fall_through(struct flow *f);
/** Block f->at, which is FLOW_BLOCK_LONG, ran, and what comes after it runs. *nr_silent: branches
 * that were not reported, in a row, and this one's share but one. */
bool flow_pass_long(struct flow *f, unsigned int *nr_silent);
/** All of a block that ends without a waypoint, where it may not. */
bool flow_step_broken(struct flow *f, const struct flow_block *b);
/** FLOW_EV_RANGE */
void flow_put_range(struct flow *f, uint64_t from, uint64_t to, uint32_t nr_insns);

/** After indirect branch @p from; its target is to come. */
static inline void flow_leave(struct flow *f, uint32_t from)
{
	f->from = from;
	f->at = FLOW_NO_BLOCK;
	f->needs_address = true;
	f->popping = flow_popping_after(f, &f->blocks.all.data[from]);
}

static inline void flow_pop_top(struct flow *f)
{
	f->stack_top = (f->stack_top - 1) & (f->rules.stack_depth - 1u);
	f->stack_nr--;
}

/** What a path that calls leaves on the return stack. */
static inline void flow_push_path(struct flow *f, const struct flow_path *p)
{
	const struct flow_path_calls *c = flow_path_calls(&f->paths, p);
	unsigned int depth = f->rules.stack_depth, most_left = depth - c->most_pushed;

	f->stack_nr = (f->stack_nr < most_left ? f->stack_nr : most_left) + c->nr_pushed;
	if (c->pops && f->stack_nr)
		flow_pop_top(f);
	for (unsigned int i = 0; i < c->nr_pushed; i++) {
		f->stack_top = (f->stack_top + 1) & (depth - 1);
		f->stack[f->stack_top] = f->paths.pushed.data[c->pushed + i];
	}
}

/** last_edge is that of the address at the end of @p p; NULL: there is none. */
static inline void flow_keep_path_edge(struct flow *f, const struct flow_path *p)
{
	f->last_edge.kind = p && !f->items ? FLOW_EDGE_OF_PATH : FLOW_EDGE_NONE;
	f->last_edge.from = p ? (uint32_t)(p - f->paths.all.data) : 0;
}

#endif
