/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_IPT_TRUTH_H
#define TESTS_MAKE_IPT_TRUTH_H

#include "base/vec.h"
#include "image/code_source.h"

/*
 * What a processor did while Intel PT watched, as far as some packet proves it: the instructions in
 * order, and what holds or happened between them. "at": before the instruction of that index.
 */

/** An instruction's address << 8 | its bytes: the upper byte of an address repeats the next bit. */
static inline uint64_t ipt_insn_of(uint64_t address, unsigned int bytes)
{
	return address << 8 | bytes;
}

static inline uint64_t ipt_insn_address(uint64_t insn)
{
	return (uint64_t)((int64_t)insn >> 8);
}

static inline unsigned int ipt_insn_bytes(uint64_t insn)
{
	return insn & 0xff;
}

/** From instruction at on. is_kernel is that of each address. */
struct ipt_state_at {
	uint64_t at;
	struct code_x86_context x86;
	bool is_in_transaction;
};

/** An event that a decoder has to report there. */
struct ipt_mark {
	uint64_t at;
	uint8_t kind;     /* enum flow_event_kind: TRACE_ON, TRACE_OFF, EXCEPTION, NOTE (PTWRITE),
			     NO_SYNC (overflow) */
	bool is_overflow; /* TRACE_ON */
	/** TRACE_ON: where; EXCEPTION: where it came; TRACE_OFF: where to, or 0; NOTE: the
	 * value */
	uint64_t value;
};

/** When the packet came that proves all instructions before at. The first one of an index counts.
 */
struct ipt_time_at {
	uint64_t at, ticks;
};

struct ipt_truth {
	struct {
		VEC(uint64_t);
	} insns;
	struct {
		VEC(struct ipt_state_at);
	} states;
	struct {
		VEC(struct ipt_mark);
	} marks;
	struct {
		VEC(struct ipt_time_at);
	} times;
};

static inline void ipt_truth_done(struct ipt_truth *t)
{
	vec_done(&t->insns);
	vec_done(&t->states);
	vec_done(&t->marks);
	vec_done(&t->times);
}

#endif
