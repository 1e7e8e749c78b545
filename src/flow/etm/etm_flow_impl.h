/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_FLOW_IMPL_H
#define FLOW_ETM_ETM_FLOW_IMPL_H

#include "base/map_u64.h"
#include "flow/etm/etm_flow.h"
#include "flow/etm/etm_paths.h"
#include "flow/flow_blocks.h"
#include "flow/flow_front.h"
#include "flow/flow_kept.h"
#include "flow/flow_reach.h"

enum {
	ETM_STACK_DEPTH = 16, /* the unit's is small and not announced */
	ETM_BATCH_ITEMS = 16 << 10,
	ETM_ITEMS_OF_PACKET = 64, /* a packet makes no more, source addresses aside */
	ETM_ITEMS_OF_PATH = ETM_PATH_ITEMS + ETM_PATH_SLACK,
	ETM_MAX_QUEUE = 64 << 10, /* elements that wait for a commit; more are a broken stream */
};

/** Elements: what packets mean, in order; P0 elements may be cancelled until they are committed. */
enum etm_element {
	/* P0 */
	ETM_EL_ATOMS, /* a: bits, oldest lowest; nr */
	ETM_EL_EXCEPTION,
	ETM_EL_PE_RESET,
	ETM_EL_SOURCE,
	ETM_EL_Q,
	ETM_EL_FUNCTION_RET,
	ETM_EL_TRANS_START,
	/* not */
	ETM_EL_ADDRESS,
	ETM_EL_CONTEXT,
	ETM_EL_TRACE_ON,
	ETM_EL_TRACE_INFO,
	ETM_EL_EXCEPTION_RET,
	ETM_EL_TRANS_COMMIT,
	ETM_EL_TRANS_FAIL,
	/* reported even where what stands in front of them was cancelled or lost: */
	ETM_EL_TIMESTAMP,
	ETM_EL_CYCLES,
	ETM_EL_EVENT,
	ETM_EL_TS_MARKER,
	ETM_EL_ITE,
};

struct etm_elem {
	uint8_t kind; /* enum etm_element */
	uint8_t nr;   /* atoms */
	uint8_t is, e, el;
	bool has_count, has_address;
	bool is_of_next;            /* CONTEXT: came behind the P0 element that follows */
	struct etm_context context; /* CONTEXT */
	uint32_t a;                 /* atoms, exception number, count, events */
	uint64_t value;             /* address, timestamp, ... */
	uint64_t offset;
};

enum etm_sync { ETM_WAIT_ASYNC, ETM_WAIT_INFO, ETM_RUNNING };

/** When counting: the edge that the last address told. It does not count when the trace is lost
 * before anything ran there: nothing would be told of it in batches, either. */
struct etm_edge_told {
	enum { ETM_EDGE_NONE, ETM_EDGE_OF_BRANCH, ETM_EDGE_OF_PATH, ETM_EDGE_KEPT } kind;
	uint32_t from, to; /* blocks; from: the path that it is the end of, or of those kept */
	uint64_t address;  /* of a kept one: to */
};

enum { ETM_MAX_ASKED = 16 };
enum etm_first { ETM_FIRST_NONE, ETM_FIRST_P0, ETM_FIRST_LOSS };
enum etm_first_to { ETM_TO_OPEN, ETM_TO_KNOWN, ETM_TO_NOBODY };

struct etm_flow {
	struct flow flow;
	struct etm_parallel *parallel; /* then nothing else here is used but opts */
	struct etm_flow_opts opts;
	const struct etm_config *config;
	struct etm_packets packets;
	struct os_heap heap; /* of blocks and paths */
	struct flow_code code;
	struct flow_blocks blocks;
	enum etm_sync sync;
	enum clew_err err; /* the consumer's, or no memory: decoding has ended */
	bool was_overflow, is_begun;
	uint64_t offset; /* of the packet at hand */

	/* Waiting for a commit. */
	struct {
		VEC(struct etm_elem);
	} queue;
	size_t head;              /* the oldest in the queue */
	uint32_t depth;           /* P0 elements in it, placeholders included */
	uint32_t nr_placeholders; /* P0 elements from before the sync, the oldest of all */
	struct etm_elem pending;  /* an exception or Q whose address is still to come, */
	bool has_pending;

	/* The walk. */
	uint64_t pc;
	enum isa isa;
	bool needs_address, needs_context, is_popping, no_push;
	struct flow_context context;
	uint64_t ticks, bound; /* code_key */
	uint32_t space;
	uint32_t at;   /* block that begins at pc; FLOW_NO_BLOCK: not looked up */
	uint32_t from; /* indirect branch whose target is to come */
	struct etm_return stack[ETM_STACK_DEPTH];
	unsigned int stack_top, stack_nr;

	uint64_t nr_dropped, dropped_at; /* atoms since the last element; the first one's offset */

	/* What came of it. */
	uint32_t *items;
	size_t nr_items;
	struct {
		VEC(struct flow_event);
	} events;
	uint32_t epoch;
	struct flow_totals totals;
	uint8_t unsupported[32]; /* headers that were told of: a bit each */

	struct flow_reach reach;

	/* The straight way. */
	struct etm_paths paths;
	struct etm_atoms atoms[64]; /* of headers 0xc0 to 0xff */
	uint8_t forms[256];         /* of headers, etm_straight.c */

	/* Counts. */
	struct map_u64 went; /* from << 32 | to block: targets for which way[] had no room */
	uint64_t nr_counted; /* atoms at most, since counts were kept */
	struct etm_edge_told last_edge;
	struct flow_kept kept;
	uint32_t step; /* 1; of what is taken back -1 */

	/* A part decoded ahead (etm_parallel.h). */
	bool is_speculative;
	uint8_t first;        /* enum etm_first: what came first in it */
	uint8_t has_first_to; /* enum etm_first_to: where the branch before it went, */
	uint64_t first_to;
	bool has_own_context, has_own_upper_el; /* context.upper_el is no guess */
	bool has_own_ticks;                     /* else f->ticks is a guess, and these spaces are */
	unsigned int nr_asked;
	struct {
		struct code_key key;
		uint32_t space;
	} asked[ETM_MAX_ASKED];

	struct flow_kept pieces; /* of code, that ended before a waypoint */
};

static inline struct etm_flow *etm_flow_of(struct flow *f)
{
	return (struct etm_flow *)f; /* its first member */
}

/* --- etm_walk.c: elements that are committed --- */

/** @return false: the code or the stream does not fit; etm_flow_lose() was called. */
bool etm_walk_element(struct etm_flow *f, const struct etm_elem *e);
bool etm_walk_atom(struct etm_flow *f, bool is_e);
/** What is only told, whatever became of the instructions around it. */
void etm_walk_note(struct etm_flow *f, const struct etm_elem *e);
/** Atoms that were dropped, before anything else is told. */
void etm_walk_tell_dropped(struct etm_flow *f);
void etm_walk_forget(struct etm_flow *f);
void etm_walk_look_up_space(struct etm_flow *f);

/* --- etm_queue.c: elements that wait --- */

bool etm_queue_add(struct etm_flow *f, const struct etm_elem *e);
bool etm_queue_commit(struct etm_flow *f, uint32_t n);
bool etm_queue_cancel(struct etm_flow *f, uint32_t n);
bool etm_queue_mispredict(struct etm_flow *f);
/** Perform what waits for the next P0 element; there is none in it. */
void etm_queue_perform_rest(struct etm_flow *f);
void etm_queue_drop(struct etm_flow *f, bool notes_are_told);
/** The input is over: tell notes; and transactions whose outcome is known, if that is certain. */
void etm_queue_end(struct etm_flow *f);

/* --- etm_straight.c --- */

void etm_straight_init(struct etm_flow *f);
/** Take what can be taken straight from the bytes: none, some or all. */
void etm_straight(struct etm_flow *f, struct bytes *in);

/* --- etm_counts.c --- */

/** The indirect branch of block @p from went to block @p to. */
void etm_flow_went(struct etm_flow *f, uint32_t from, uint32_t to, int64_t nr);
/** last_edge. */
void etm_flow_take_back_edge(struct etm_flow *f);
/** Take counts out of the cache, before it is cleared or they overflow; last_edge, too. */
void etm_counts_keep(struct etm_flow *f);
/** Of the cache; all 0 again. */
void etm_counts_forget(struct etm_flow *f);

/* As flow.h's. */
const struct flow_totals *etm_counts_totals(struct flow *flow);
bool etm_counts_edges(struct flow *flow, bool (*edge)(void *ctx, const struct flow_edge *e),
		      void *ctx);

/** [@p from, @p to) of @p nr_insns ran, and not up to a waypoint. */
void etm_flow_ran(struct etm_flow *f, uint64_t from, uint64_t to, uint32_t nr_insns);

/* --- etm_flow.c --- */

/** Give what there is to the consumer. */
void etm_flow_deliver(struct etm_flow *f);
/** Go on at the next async. */
void etm_flow_lose(struct etm_flow *f, enum flow_no_sync reason, const char *what);
void etm_flow_event(struct etm_flow *f, const struct flow_event *e);
void etm_flow_fail(struct etm_flow *f, enum clew_err err);
bool etm_flow_cache_is_full(const struct etm_flow *f);
/** So full that the straight way, which alone cannot clear it, has to end? */
bool etm_flow_cache_is_overfull(const struct etm_flow *f);
/** Is there no room for what one more part may need? */
bool etm_flow_wants_room(const struct etm_flow *f);
/** Where nothing can be taken back, and no branch waits for its target: numbers of blocks may begin
 * again. */
void etm_flow_make_room(struct etm_flow *f);

/** Instruction set at an address that was told with @p is, in the context at hand. */
static inline enum isa etm_isa_of(const struct etm_flow *f, uint8_t is)
{
	return is ? ISA_T32 : f->context.is_64 ? ISA_A64 : ISA_A32;
}

/** Where the block behind an atom is kept, when it is known without the trace. */
static inline uint32_t *etm_link_of(struct etm_flow *f, uint32_t at, bool is_e)
{
	const struct flow_block *b = &f->blocks.all.data[at];
	struct flow_link *l = &f->blocks.links.data[at];

	if (is_e && b->flags & INSN_LINK && b->kind != INSN_INDIRECT && f->config->has_return_stack)
		return &l->other;
	return &l->next[is_e];
}

static inline void etm_flow_add_range(struct etm_flow *f, uint32_t nr_insns)
{
	int64_t step = (int32_t)f->step;

	f->totals.nr_insns += nr_insns * (uint64_t)step;
	f->totals.nr_ranges += (uint64_t)step;
}

static inline void etm_flow_item(struct etm_flow *f, uint32_t block, bool is_e)
{
	etm_flow_add_range(f, f->blocks.all.data[block].nr_insns);
	if (!f->items) {
		f->blocks.counts.data[block].nr[is_e] += f->step;
		f->nr_counted++;
		return;
	}
	f->items[f->nr_items++] = block << 1 | is_e;
}

#endif
