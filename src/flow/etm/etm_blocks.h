/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_BLOCKS_H
#define FLOW_ETM_ETM_BLOCKS_H

#include "base/vec.h"
#include "flow/etm/etm_flow.h"
#include "os/heap.h"

/*
 * Straight runs of code, decoded once: (space, instruction set, address) -> block. A block that
 * does not reach a waypoint has kind INSN_PLAIN, and says in flags why.
 */

/** No code runs longer than this without a waypoint: zero-filled pages would. */
enum { ETM_MAX_BLOCK_INSNS = UINT16_MAX };

/** enum insn flags end below. */
enum {
	ETM_BLOCK_NO_CODE = 1 << 6, /* nothing readable at start + bytes */
	ETM_BLOCK_ENDLESS = 1 << 7, /* ETM_MAX_BLOCK_INSNS without a waypoint */
};

enum { ETM_NO_BLOCK = UINT32_MAX, ETM_NR_WAYS = 3 };

_Static_assert(sizeof(struct flow_block) == 32, "half a cache line");

/** What a walk needs of a block, and nothing else. */
struct etm_link {
	/* The blocks behind an N and an E; ETM_NO_BLOCK: not looked up, or there is more to do
	 * than to go there. */
	uint32_t next[2];
	uint32_t other; /* of an indirect branch: index of its etm_ways; of a call that is kept on
			   the return stack: the block behind an E */
	uint32_t nr_insns;
};

/** How often a block ended with an N and an E. */
struct etm_count {
	uint32_t nr[2];
};

/** Where an indirect branch went: the first few blocks. */
struct etm_ways {
	uint32_t to[ETM_NR_WAYS], nr[ETM_NR_WAYS];
};

struct etm_blocks {
	struct os_heap *heap;
	struct {
		VEC(struct flow_block);
	} all;
	struct {
		VEC(struct etm_link);
	} links;
	struct {
		VEC(struct etm_count);
	} counts; /* only if is_counting */
	struct {
		VEC(struct etm_ways);
	} ways;
	uint32_t *slots; /* hash table of block numbers */
	size_t nr_slots;
	const struct code_source *code;
	bool has_wfx, is_counting;
	struct code_region region; /* the last one found, */
	uint32_t region_space;     /* of this space */
};

/** @p heap: its memory, which ends when that does. */
void etm_blocks_init(struct etm_blocks *b, struct os_heap *heap, const struct code_source *code,
		     bool has_wfx, bool is_counting);
void etm_blocks_clear(struct etm_blocks *b);
size_t etm_blocks_bytes(const struct etm_blocks *b);

/** The block that begins at @p addr. @return ETM_NO_BLOCK: out of memory. */
uint32_t etm_blocks_get(struct etm_blocks *b, uint32_t space, enum isa isa, uint64_t addr);

/** Instructions that begin in [@p from, @p to), at most ETM_MAX_BLOCK_INSNS, as far as code is
 * readable. *ret_readable: behind the last of them. */
uint32_t etm_blocks_count(struct etm_blocks *b, uint32_t space, enum isa isa, uint64_t from,
			  uint64_t to, uint64_t *ret_readable);

/** Address | 1 of T32. */
static inline uint64_t etm_block_place(const struct flow_block *b)
{
	return b->start | (b->isa == ISA_T32);
}

/** Instruction set and address behind a direct branch that is taken. */
static inline enum isa etm_target_isa(const struct flow_block *b)
{
	if (!(b->flags & INSN_SWITCH))
		return (enum isa)b->isa;
	return b->isa == ISA_T32 ? ISA_A32 : ISA_T32;
}

#endif
