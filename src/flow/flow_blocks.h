/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_BLOCKS_H
#define FLOW_FLOW_BLOCKS_H

#include "base/vec.h"
#include "flow/flow_code.h"
#include "os/heap.h"

/*
 * Straight runs of code, decoded once: (space, instruction set, address) -> block. A block that
 * does not reach a waypoint has kind INSN_PLAIN, and says in flags why.
 */

enum { FLOW_NO_BLOCK = UINT32_MAX, FLOW_NR_TARGETS = 3 };

/** What a walk needs of a block, and nothing else. */
struct flow_link {
	/* By outcome, not taken and taken: the next block. FLOW_NO_BLOCK: not looked up yet; or it
	 * is not enough to go there, as an address, the return stack or an event is involved. */
	uint32_t next[2];
	/* An indirect branch: index of its flow_targets. A direct one that pushes the return stack,
	 * or has no bit (flow_rules.silent_kinds): the block that it leads to. */
	uint32_t other;
	uint32_t nr_insns;
};

/** How often a block ended with its branch not taken, and taken. */
struct flow_count {
	uint32_t nr[2];
};

/** Where an indirect branch went: the first few blocks. */
struct flow_targets {
	uint32_t to[FLOW_NR_TARGETS], nr[FLOW_NR_TARGETS];
};

struct flow_blocks {
	struct os_heap *heap;
	struct {
		VEC(struct flow_block);
	} all;
	struct {
		VEC(struct flow_link);
	} links;
	struct {
		VEC(struct flow_count);
	} counts; /* only if is_counting */
	struct {
		VEC(struct flow_targets);
	} targets;
	uint32_t *slots; /* hash table of block numbers */
	size_t nr_slots;
	struct flow_code *code;
	bool is_counting;
};

/** @p heap: its memory, which ends when that does. @p code: borrowed. */
void flow_blocks_init(struct flow_blocks *b, struct os_heap *heap, struct flow_code *code,
		      bool is_counting);
void flow_blocks_clear(struct flow_blocks *b);
size_t flow_blocks_bytes(const struct flow_blocks *b);

/** @return FLOW_NO_BLOCK: there is none yet. */
uint32_t flow_blocks_find(const struct flow_blocks *b, uint32_t space, enum isa isa, uint64_t addr);
/** The block that begins at @p addr. @return FLOW_NO_BLOCK: out of memory. */
uint32_t flow_blocks_get(struct flow_blocks *b, uint32_t space, enum isa isa, uint64_t addr);

/** Address | 1 of T32. */
static inline uint64_t flow_block_place(const struct flow_block *b)
{
	return b->start | (b->isa == ISA_T32);
}

/** Only the trace has its target. */
static inline bool flow_is_indirect(const struct flow_block *b)
{
	return b->kind == INSN_INDIRECT || b->kind == INSN_FAR;
}

#endif
