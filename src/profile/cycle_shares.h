/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_CYCLE_SHARES_H
#define PROFILE_CYCLE_SHARES_H

#include "base/vec.h"
#include "flow/flow.h"

/*
 * Cycles that a trace counts now and then -> cycles of the blocks that ran in between, of one unit.
 * From one count to the next each instruction gets the same share: where the trace counts at each
 * branch, that is the time of a block. Intervals in which anything is unknown do not count.
 */

struct cycle_share {
	struct flow_block block;
	uint64_t nr, cycles; /* executions of known cycles; these, times CODE_CYCLE */
};

/** Zeroed struct but for is_x86 = nothing yet. */
struct cycle_shares {
	bool is_x86;  /* cycles are those in which tracing was on */
	bool is_open; /* the interval began with a count */
	bool has_epoch;
	uint32_t epoch;
	uint64_t nr_insns; /* of the interval */
	struct {
		VEC(uint32_t);
	} blocks; /* that ran in it; by number in the epoch */
	struct {
		VEC(struct cycle_share);
	} shares; /* by number in the epoch; nr 0: of no interest */
};

/** Takes what an epoch that has ended has, each block once. */
struct cycle_shares_sink {
	bool (*share)(void *ctx, const struct cycle_share *s); /* false: out of memory */
	void *ctx;
};

/** CLEW_NO_MEMORY. */
enum clew_err cycle_shares_add(struct cycle_shares *c, const struct flow_batch *b,
			       const struct cycle_shares_sink *to);
/** The last epoch has ended. @return false: out of memory. */
bool cycle_shares_end(struct cycle_shares *c, const struct cycle_shares_sink *to);
void cycle_shares_done(struct cycle_shares *c);

#endif
