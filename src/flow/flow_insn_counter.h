/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_INSN_COUNTER_H
#define FLOW_FLOW_INSN_COUNTER_H

#include "flow/flow_code.h"

/*
 * How many instructions stand between two addresses. Where their lengths differ the way is a walk;
 * but wherever a walk comes from, it enters a page at one of its first few bytes. How it leaves
 * from there is kept: what exceptions with made-up addresses ask for again and again.
 */
struct flow_insn_counter {
	struct flow_insn_page *pages; /* NULL: none is kept yet */
};

void flow_insn_counter_done(struct flow_insn_counter *r); /* and to forget all */

/** flow_code_count(), with @p r to remember. */
uint32_t flow_insn_counter_count(struct flow_insn_counter *r, struct flow_code *c,
				 const struct flow_span *s, uint64_t *ret_readable);

/** Bytes of the last instruction of @p s, in which whole ones stand. */
uint8_t flow_insn_counter_last(struct flow_insn_counter *r, struct flow_code *c,
			       const struct flow_span *s);

#endif
