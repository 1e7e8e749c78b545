/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_PATHS_H
#define FLOW_FLOW_PATHS_H

#include "base/vec.h"
#include "flow/flow_blocks.h"

/*
 * Where branches lead to from a block, walked once: (block, up to 8 letters of branches, the
 * address after them) -> items, what they leave on the return stack, and the block after them. A
 * program comes the same ways again and again, so that nearly all of a trace is found here.
 */

/** How a protocol says which branches were taken: a byte each (ETM: a packet of atoms). */
struct flow_letter {
	uint32_t bits; /* taken or not, the oldest lowest */
	uint8_t nr;    /* up to FLOW_LETTER_BRANCHES; 0: this byte is no letter */
};

enum {
	FLOW_NR_LETTERS = 256,
	FLOW_LETTER_BRANCHES = 24,
	FLOW_NR_CONTEXTS = 4,  /* instruction sets that an address cannot say */
	FLOW_STACK_DEPTH = 64, /* at most */
};

/** What the engine has to know of a protocol. */
struct flow_rules {
	const struct flow_insns *insns;
	struct flow_letter letters[FLOW_NR_LETTERS]; /* 0 is none */
	/** enum isa of code [in such a context][at an address with place_bit] */
	uint8_t isas[FLOW_NR_CONTEXTS][2];
	uint8_t switched[NR_ISAS]; /* enum isa after INSN_SWITCH, by that of the branch */
	uint8_t stack_depth;       /* of the return stack, a power of two */
	/**
	 * 1 << enum insn_kind: waypoints without a bit in letters. A direct one is passed on the
	 * way to what has a bit. With INSN_INDIRECT the next indirect branch goes to the next
	 * address, only an INSN_RET with a bit to the top of the return stack, and each INSN_RET
	 * pops.
	 */
	uint16_t silent_kinds;
	uint8_t place_bit; /* 1: bit 0 of an address says what code stands there; 0: no bit does */
	bool has_return_stack; /* targets of returns are not in the trace where they fit calls */
	bool has_eret_events;  /* an INSN_ERET that is taken is an event; else packets are */
	bool has_wfx;          /* INSN_WFX is a waypoint */
};

enum {
	FLOW_PATH_LETTERS = 8,
	FLOW_PATH_ITEMS = FLOW_PATH_LETTERS * FLOW_LETTER_BRANCHES,
	FLOW_PATH_SLACK = 16, /* items that may be read, and written, after the last */
	FLOW_PATH_PROBES = 16,
};
/** Instead of an address: none comes, or the path's target is still unknown. */
enum { FLOW_NO_ADDRESS = 2 };
/** In flow_path.from, below the block. */
enum {
	FLOW_TO_UNTRACED = 1 << 2, /* the address is where execution left what is traced */
	FLOW_FROM_BITS = 3,
};
_Static_assert((int)FLOW_NR_CONTEXTS <= (int)FLOW_TO_UNTRACED, "contexts are the lowest bits");
/** A slot without a path. */
enum { FLOW_NO_PATH = UINT32_MAX };

/** An address the return stack holds. */
struct flow_return {
	uint64_t address;
	uint32_t call; /* the block that pushed it; FLOW_NO_BLOCK: not in the cache any more */
	uint32_t isa;
};

enum {
	FLOW_PATH_IS_CUT = 1 << 0, /* it ends before its last packet does */
	FLOW_PATH_CALLS = 1 << 1,  /* it pushes, even if it pops all of that again, or only pops */
	FLOW_PATH_LEAVES = 1 << 2, /* it ends after an indirect branch, and no address follows */
	FLOW_PATH_FLAG_BITS = 3,
	FLOW_PATH_FLAGS = (1 << FLOW_PATH_FLAG_BITS) - 1,
};

/** Half a cache line: there are many. */
struct flow_path {
	uint64_t key;  /* letters, the first lowest; 0 after the last */
	uint64_t to;   /* address, with place_bit; FLOW_NO_ADDRESS */
	uint32_t from; /* block << FLOW_FROM_BITS | FLOW_TO_UNTRACED or 0 | which of
			  flow_rules.isas (ETM: AArch64?) */
	uint32_t next; /* block; FLOW_NO_BLOCK: after the last item, an indirect branch. With
			  FLOW_TO_UNTRACED: where tracing last began again, or FLOW_NO_BLOCK */
	uint32_t more; /* index of flow_path_more << FLOW_PATH_FLAG_BITS | flags; when only
			  counting, there is none but of a path that has flags */
	uint32_t nr_runs;
};
_Static_assert(sizeof(struct flow_path) == 32, "half a cache line");

/** Before a path's items; when only counting, before the last one. */
struct flow_path_more {
	uint32_t nr_insns;
	uint8_t nr_items;
	uint8_t nr_bytes; /* of a path that is cut: its whole letters */
	/* Of a path that is cut: branches that are left of the letter after the last whole one, as
	 * a letter; 0: none. */
	uint8_t rest;
};

/** After the items of a path that calls. */
struct flow_path_calls {
	uint32_t pushed;                /* index of the first */
	uint8_t nr_pushed, most_pushed; /* in the end; at any time */
	bool pops;                      /* what was there before; it is the last thing it does */
	uint8_t spare;
};

enum {
	FLOW_MORE_WORDS = sizeof(struct flow_path_more) / sizeof(uint32_t),
	FLOW_CALLS_WORDS = sizeof(struct flow_path_calls) / sizeof(uint32_t),
};

struct flow_paths {
	struct os_heap *heap;
	struct {
		VEC(struct flow_path);
	} all;
	struct {
		VEC(uint32_t);
	} words; /* flow_path_more, items, flow_path_calls */
	struct {
		VEC(struct flow_return);
	} pushed;
	uint32_t *slots; /* hash table of path numbers, with room for the last one's probes */
	unsigned int shift;
};

/** Of eight letters the first so many: what to keep. */
extern const uint64_t flow_path_first_letters[FLOW_PATH_LETTERS + 1];

/** @p heap: its memory, which ends when that does. @return false: out of memory. */
bool flow_paths_init(struct flow_paths *t, struct os_heap *heap);
void flow_paths_clear(struct flow_paths *t);
size_t flow_paths_bytes(const struct flow_paths *t);

/**
 * Where the search for a path begins. @p start: the address of its first block, as flow_path.to: it
 * is known before the block is, so that what is ahead can be fetched early.
 */
static inline size_t flow_path_slot(const struct flow_paths *t, uint32_t space, uint64_t start,
				    uint64_t key, uint64_t to)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t h = (key * odd + start) ^ (to + space) * odd;

	return (size_t)((h ^ h >> 32) * odd >> t->shift);
}

/** @return NULL: not walked yet. */
static inline struct flow_path *flow_path_find(const struct flow_paths *t, size_t slot,
					       uint32_t from, uint64_t key, uint64_t to)
{
	for (size_t i = slot; i < slot + FLOW_PATH_PROBES; i++) {
		uint32_t nr = t->slots[i];
		struct flow_path *p;

		if (nr == FLOW_NO_PATH)
			return NULL;
		p = &t->all.data[nr];
		if (p->key == key && p->to == to && p->from == from)
			return p;
	}
	return NULL;
}

/** It ends with a branch to what is not traced. */
static inline bool flow_path_is_to_untraced(const struct flow_path *p)
{
	return p->from & FLOW_TO_UNTRACED && !(p->more & FLOW_PATH_IS_CUT);
}

/** Does the branch of block @p b go to @p to, where nothing is traced? The trace then has no bit of
 * it. */
static inline bool flow_leaves_by(const struct flow_block *b, uint64_t to)
{
	return flow_is_indirect(b) ||
	       ((b->kind == INSN_BRANCH || b->kind == INSN_COND) && b->target == to);
}

static inline const struct flow_path_more *flow_path_more(const struct flow_paths *t,
							  const struct flow_path *p)
{
	return (const void *)(t->words.data + (p->more >> FLOW_PATH_FLAG_BITS));
}

static inline const uint32_t *flow_path_items(const struct flow_paths *t, const struct flow_path *p)
{
	return t->words.data + (p->more >> FLOW_PATH_FLAG_BITS) + FLOW_MORE_WORDS;
}

/** The block of a path's last item. */
static inline uint32_t flow_path_last_block(const struct flow_paths *t, const struct flow_path *p)
{
	return flow_path_items(t, p)[flow_path_more(t, p)->nr_items - 1] >> 1;
}

/** Copy the items of a path to @p to, where there is room for FLOW_PATH_SLACK more. @return after
 * the last one. */
static inline uint32_t *flow_path_put_items(uint32_t *to, const struct flow_path_more *more)
{
	const uint32_t *from = (const uint32_t *)(const void *)(more + 1);

	memcpy(to, from, FLOW_PATH_SLACK * sizeof(*to));
	if (more->nr_items > FLOW_PATH_SLACK)
		memcpy(to + FLOW_PATH_SLACK, from + FLOW_PATH_SLACK,
		       (more->nr_items - (size_t)FLOW_PATH_SLACK) * sizeof(*to));
	return to + more->nr_items;
}

static inline const struct flow_path_calls *flow_path_calls(const struct flow_paths *t,
							    const struct flow_path *p)
{
	return (const void *)(flow_path_items(t, p) + flow_path_more(t, p)->nr_items);
}

/** Room in the hash table for one more. @p blocks: where paths begin. @return false: out of memory.
 */
bool flow_paths_grow(struct flow_paths *t, const struct flow_blocks *blocks);
/** @p p, with its words and what it pushes already in place; in all there is room. */
struct flow_path *flow_paths_add(struct flow_paths *t, const struct flow_blocks *blocks,
				 const struct flow_path *p);

#endif
