/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_PATHS_H
#define FLOW_ETM_ETM_PATHS_H

#include "base/vec.h"
#include "flow/flow_blocks.h"

/*
 * Where packets lead to from a block, walked once: (block, up to 8 packets of atoms, the address
 * behind them) -> items, what they leave on the return stack, and the block behind them. A program
 * comes the same ways again and again, so that nearly all of a trace is found here.
 */

enum {
	ETM_PATH_PACKETS = 8, /* of atoms: a byte each */
	ETM_PATH_ITEMS = ETM_PATH_PACKETS * 24,
	ETM_PATH_SLACK = 16, /* items that may be read, and written, behind the last */
	ETM_PATH_PROBES = 16,
};
/** Instead of an address: none comes, or it is not known yet where they lead. */
enum { ETM_NO_ADDRESS = 2 };

/** An address the return stack holds. */
struct etm_return {
	uint64_t address;
	uint32_t call; /* the block that pushed it; FLOW_NO_BLOCK: not in the cache any more */
	uint32_t isa;
};

enum {
	ETM_PATH_IS_CUT = 1 << 0, /* it ends before its last packet does */
	ETM_PATH_CALLS = 1 << 1,  /* it pushes, even if it pops all of that again */
	ETM_PATH_LEAVES = 1 << 2, /* it ends behind an indirect branch, and no address follows */
	ETM_PATH_FLAG_BITS = 3,
	ETM_PATH_FLAGS = (1 << ETM_PATH_FLAG_BITS) - 1,
};

/** Half a cache line: there are many. */
struct etm_path {
	uint64_t atoms; /* the packets' bytes, the first lowest; 0 behind the last */
	uint64_t to;    /* address | 1 of T32; ETM_NO_ADDRESS */
	uint32_t from;  /* block << 1 | is the context AArch64? */
	uint32_t next;  /* block; FLOW_NO_BLOCK: behind the last item, an indirect branch */
	uint32_t more;  /* index of etm_path_more << ETM_PATH_FLAG_BITS | flags; when only counting,
			   there is none but of a path that has flags */
	uint32_t nr_runs;
};
_Static_assert(sizeof(struct etm_path) == 32, "half a cache line");

/** In front of a path's items; when only counting, in front of the last one. */
struct etm_path_more {
	uint32_t nr_insns;
	uint8_t nr_items;
	uint8_t nr_bytes; /* of a path that is cut: its whole packets */
	/* Of a path that is cut: atoms that are left of the packet behind the last whole one, as a
	 * packet; 0: none. */
	uint8_t rest;
};

/** Behind the items of a path that calls. */
struct etm_path_calls {
	uint32_t pushed;                /* index of the first */
	uint8_t nr_pushed, most_pushed; /* in the end; at any time */
	uint16_t spare;
};

enum {
	ETM_MORE_WORDS = sizeof(struct etm_path_more) / sizeof(uint32_t),
	ETM_CALLS_WORDS = sizeof(struct etm_path_calls) / sizeof(uint32_t),
};

struct etm_paths {
	struct os_heap *heap;
	struct {
		VEC(struct etm_path);
	} all;
	struct {
		VEC(uint32_t);
	} words; /* etm_path_more, items, etm_path_calls */
	struct {
		VEC(struct etm_return);
	} pushed;
	uint32_t *slots; /* hash table of path numbers, with room for the last one's probes */
	unsigned int shift;
};

/** @p heap: its memory, which ends when that does. @return false: out of memory. */
bool etm_paths_init(struct etm_paths *t, struct os_heap *heap);
void etm_paths_clear(struct etm_paths *t);
size_t etm_paths_bytes(const struct etm_paths *t);

/**
 * Where the search for a path begins. @p start: the address of its first block, as etm_path.to: it
 * is known before the block is, so that what is ahead can be fetched early.
 */
static inline size_t etm_path_slot(const struct etm_paths *t, uint32_t space, uint64_t start,
				   uint64_t atoms, uint64_t to)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t h = (atoms * odd + start) ^ (to + space) * odd;

	return (size_t)((h ^ h >> 32) * odd >> t->shift);
}

/** @return NULL: not walked yet. */
static inline struct etm_path *etm_path_find(const struct etm_paths *t, size_t slot, uint32_t from,
					     uint64_t atoms, uint64_t to)
{
	for (size_t i = slot; i < slot + ETM_PATH_PROBES; i++) {
		uint32_t nr = t->slots[i];
		struct etm_path *p;

		if (nr == UINT32_MAX)
			return NULL;
		p = &t->all.data[nr];
		if (p->atoms == atoms && p->to == to && p->from == from)
			return p;
	}
	return NULL;
}

static inline const struct etm_path_more *etm_path_more(const struct etm_paths *t,
							const struct etm_path *p)
{
	return (const void *)(t->words.data + (p->more >> ETM_PATH_FLAG_BITS));
}

static inline const uint32_t *etm_path_items(const struct etm_paths *t, const struct etm_path *p)
{
	return t->words.data + (p->more >> ETM_PATH_FLAG_BITS) + ETM_MORE_WORDS;
}

static inline const struct etm_path_calls *etm_path_calls(const struct etm_paths *t,
							  const struct etm_path *p)
{
	return (const void *)(etm_path_items(t, p) + etm_path_more(t, p)->nr_items);
}

struct etm_flow;

/** The block at an address from the return stack. @return FLOW_NO_BLOCK: out of memory. */
uint32_t etm_return_block(struct etm_flow *f, const struct etm_return *r);

/** Walk a new path, and keep it. @p nr packets of atoms. @return NULL: it begins with what only the
 * plain walk can do; or the cache is full; or out of memory (etm_flow.err). Valid until the next
 * call. */
struct etm_path *etm_path_walk(struct etm_flow *f, uint32_t from, uint64_t atoms, unsigned int nr,
			       uint64_t to);

#endif
