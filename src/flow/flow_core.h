/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_CORE_H
#define FLOW_FLOW_CORE_H

#include "base/map_u64.h"
#include "flow/flow_blocks.h"
#include "flow/flow_count_store.h"
#include "flow/flow_insn_counter.h"
#include "flow/flow_paths.h"

/* What front ends see of the engine. */

enum {
	FLOW_BATCH_ITEMS = 16 << 10,
	FLOW_ITEMS_OF_PACKET = 64, /* room in a batch that a packet finds; what may need more,
				      delivers on the way */
	FLOW_ITEMS_OF_PATH = FLOW_PATH_ITEMS + FLOW_PATH_SLACK,
	FLOW_MAX_ASKED = 16,
	FLOW_REPORTED_BYTES = 32,
	FLOW_COUNT_UP = 1, /* flow.step */
	FLOW_COUNT_DOWN = UINT32_MAX,
};

/**
 * A front end: what makes a protocol's bytes a flow. Its own flow begins with struct flow; what is
 * only its own is "own" here. All are called in the thread that decodes.
 */
struct flow_front {
	size_t flow_bytes;
	/** Of a flow that is zeroed but for opts: rules, and what is its own. @return false: no
	 * memory. */
	bool (*init)(struct flow *f, const void *own);
	void (*done)(struct flow *f);

	/** Decode @p in whole, or up to an error. Of at most FLOW_LETTER_BRANCHES a byte. */
	void (*feed)(struct flow *f, struct bytes in);
	/** No byte follows: end what is open. */
	void (*end_input)(struct flow *f);
	/** After that: the next byte, at f->offset, does not continue the last one. */
	void (*restart)(struct flow *f);
	/** The trace cannot be right: resume at the next synchronisation. */
	void (*lose)(struct flow *f, enum flow_no_sync reason, const char *what);

	/* Parts, decoded ahead; a front end with flows of one thread has none of these. */

	/** The first synchronisation that begins in [@p from, @p to) of @p in and says, before
	 * anything else, where and in which context execution continues, or that it is not traced.
	 * One that is not wholly in @p in does not count. Any thread. @return @p to: none. */
	size_t (*find_cut)(const struct flow *f, struct bytes in, size_t from, size_t to);
	/** Begin at the synchronisation at @p offset, as if no trace was lost before it. @p place:
	 * of place_of_cut(). */
	void (*begin_part)(struct flow *f, uint64_t offset, uint64_t place);
	/** Where execution continues at the synchronisation at the start of @p in, which
	 * find_cut() found, and at which byte of @p in that is said; FLOW_NO_ADDRESS: it is not
	 * traced. With reach(). Any thread. */
	uint64_t (*place_of_cut)(const struct flow *f, struct bytes in, size_t *ret_at);
	/** The part after this one begins at @p address: go there, on a way that has no bit. NULL:
	 * there are no silent branches (flow_rules), and parts end at branches. */
	void (*reach)(struct flow *f, uint64_t address);
	/** What a part assumes of the context: @p ret, that of the end so far, where @p now is
	 * known once perform_rest() was called. Any thread. */
	void (*assume)(struct code_context *ret, const struct code_context *now,
		       bool needs_context);
	bool (*is_as_assumed)(const struct code_context *assumed, const struct code_context *now,
			      uint64_t place);
	/** Elements that wait for what follows them. */
	size_t (*nr_waiting)(const struct flow *f);
	/** Perform them, as if nothing is lost before the next one. */
	void (*perform_rest)(struct flow *f);
	/** After that: in sync, at a known place or not traced, and nothing pending? *ret: offset
	 * of the next byte. */
	bool (*is_between)(const struct flow *f, uint64_t *ret);
	/** The front end's part of the state of decoding, to resume there later: state_bytes,
	 * zeroed once. @return false: no memory. */
	size_t state_bytes;
	bool (*save)(void *state, const struct flow *f);
	bool (*restore)(const void *state, struct flow *f);
	void (*state_done)(void *state);
};

/** When counting: the edge completed by the last address. It is undone if the trace is lost before
 * the target executes: batches would not have it, either. */
struct flow_last_edge {
	enum { FLOW_EDGE_NONE, FLOW_EDGE_OF_BRANCH, FLOW_EDGE_OF_PATH, FLOW_EDGE_STORED } kind;
	uint32_t from, to; /* blocks; from: the path that it is the end of, or of those stored */
	uint64_t address;  /* of a stored one: to */
};

/** What came first in a part: something that ran, or a loss of the trace. */
enum flow_first { FLOW_FIRST_NONE, FLOW_FIRST_RAN, FLOW_FIRST_LOSS };
/** Where the branch before it went. */
enum flow_first_to { FLOW_TO_OPEN, FLOW_TO_KNOWN, FLOW_TO_UNKNOWN };

/** After an indirect branch, if no address comes: to the top of the return stack; or to what was
 * its top when the branch ran, and is on it no more. */
enum flow_popping { FLOW_POPS_NOTHING, FLOW_POPS_TOP, FLOW_POPS_FORMER_TOP };

struct flow_event_list {
	VEC(struct flow_event);
};

/** A space that code_source gave for a key. */
struct flow_asked {
	struct code_key key;
	uint32_t space;
};

/** The first member of a front end's own. */
struct flow {
	const struct flow_front *front;
	struct flow_parallel *parallel; /* then nothing else here is used but opts */
	struct flow_opts opts;
	enum clew_err err; /* the consumer's, or no memory: decoding has ended */
	uint64_t offset;   /* of the packet at hand */
	bool is_begun;

	/* The code, as far as it ran. */
	struct os_heap heap; /* of blocks and paths */
	struct flow_code code;
	struct flow_blocks blocks;
	struct flow_insn_counter insn_counter;
	struct flow_paths paths;
	struct flow_rules rules;

	/* Where execution is. */
	uint64_t pc;
	enum isa isa;
	bool needs_address, needs_context;
	uint8_t popping; /* enum flow_popping */
	bool no_push;    /* calls are not kept until an address comes */
	struct code_context context;
	struct clew_ticks ticks;   /* code_key */
	struct clew_perf_ns bound; /* code_key */
	struct clew_ticks shown;   /* the last that was reported by flow_put_ticks() */
	uint32_t nr_switches;      /* code_key */
	bool may_have_switched;    /* code_key */
	uint32_t space;
	uint32_t at;   /* block that begins at pc; FLOW_NO_BLOCK: not looked up */
	uint32_t from; /* indirect branch that waits for its target; FLOW_NO_BLOCK: none */
	struct flow_return stack[FLOW_STACK_DEPTH];
	unsigned int stack_top, stack_nr;
	uint64_t nr_dropped, dropped_at; /* branches of unknown code, the first one's offset */

	/* For the consumer. */
	uint32_t *items; /* NULL: only counts */
	size_t nr_items;
	struct flow_event_list events;
	uint32_t epoch;
	struct flow_totals totals;
	uint8_t reported[FLOW_REPORTED_BYTES]; /* what is reported once only: a bit each, as the
						  front end likes */

	/* Counts. */
	struct map_u64
		more_targets; /* from << 32 | to block: targets for which targets[] had no room */
	uint64_t nr_counted;  /* branches at most, since counts were stored; 0: no counts */
	struct flow_last_edge last_edge;
	struct flow_count_store stored;
	struct flow_count_store pieces; /* of code, that ended before a waypoint */
	uint32_t step;                  /* FLOW_COUNT_UP; while counts are undone FLOW_COUNT_DOWN */

	/* A part decoded ahead (flow_parallel.h). */
	bool is_speculative;
	uint8_t first;        /* enum flow_first */
	uint8_t has_first_to; /* enum flow_first_to, */
	uint64_t first_to;
	bool has_own_context; /* what was assumed of it does not matter any more */
	bool has_own_ticks;   /* else ticks is a guess, and these spaces are */
	unsigned int nr_asked;
	struct flow_asked asked[FLOW_MAX_ASKED];
};

/** @p own: the front end's own options, for the call. @return NULL: out of memory. */
struct flow *flow_new(const struct flow_front *front, const struct flow_opts *opts,
		      const void *own);

static inline void flow_fail(struct flow *f, enum clew_err err)
{
	if (!f->err)
		f->err = err;
}

/** Give what there is to the consumer. */
void flow_deliver(struct flow *f);
void flow_put_event(struct flow *f, const struct flow_event *e);
/** Trace was lost after execution came to f->pc, if that is known. */
void flow_put_loss(struct flow *f, enum flow_no_sync reason);
void flow_put_no_sync(struct flow *f, enum flow_no_sync reason, const char *what);

/** Report f->ticks, or what was reported last, if that is later: a unit's own time may go back
 * where it begins again, and what follows there must not depend on what came before. */
void flow_put_ticks(struct flow *f);

/** @p nr branches, or so, of unknown instructions; nor is what comes next the target of f->from. */
static inline void flow_drop(struct flow *f, unsigned int nr)
{
	if (!f->nr_dropped)
		f->dropped_at = f->offset;
	f->nr_dropped += nr;
	f->totals.nr_dropped += nr;
	f->from = FLOW_NO_BLOCK;
	if (f->has_first_to == FLOW_TO_OPEN)
		f->has_first_to = FLOW_TO_UNKNOWN;
}

void flow_report_dropped(struct flow *f);
/** Report what was dropped, before anything else is. */
static inline void flow_put_dropped(struct flow *f)
{
	if (f->nr_dropped)
		flow_report_dropped(f);
}

/** For context, ticks and bound as they are. */
void flow_look_up_space(struct flow *f);

bool flow_cache_is_full(const struct flow *f);
/** Fast decoding limits the cache only when it ends, and packets may never make it end: from here
 * on it has to. */
bool flow_cache_is_overfull(const struct flow *f);
/** Between two packets: keep the cache within its bound, and counts within theirs. */
void flow_limit_cache(struct flow *f);
/** Would flow_limit_cache() soon have to do something? */
bool flow_wants_room(const struct flow *f);
/** Do it. Nothing is taken back any more that was decoded before; block numbers may begin again. */
void flow_make_room(struct flow *f);

/* --- flow_counts.c --- */

/** The indirect branch of block @p from went to block @p to. */
void flow_count_target(struct flow *f, uint32_t from, uint32_t to, int64_t nr);
/** last_edge. */
void flow_take_back_edge(struct flow *f);
/** Take counts out of the cache, before it is cleared or they overflow; last_edge, too. */
void flow_counts_store(struct flow *f);
/** Of the cache; all 0 again. */
void flow_counts_forget(struct flow *f);
/** [@p from, @p to) of @p nr_insns ran, and not up to a waypoint. */
void flow_ran(struct flow *f, uint64_t from, uint64_t to, uint32_t nr_insns);
/* As flow.h's, of one thread. */
const struct flow_totals *flow_counts_totals(struct flow *f);
bool flow_counts_edges(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e),
		       void *ctx);

static inline bool flow_is_branch(const struct flow_block *b)
{
	return b->kind == INSN_BRANCH || b->kind == INSN_COND || b->kind == INSN_INDIRECT;
}

/** Passed without a bit. */
static inline bool flow_is_silent(const struct flow *f, const struct flow_block *b)
{
	return f->rules.silent_kinds >> b->kind & 1 && !flow_is_indirect(b);
}

/** May a bit be that of @p b? Of an indirect branch without one only as a compressed return. */
static inline bool flow_may_have_bit(const struct flow *f, const struct flow_block *b,
				     bool is_taken)
{
	return !(f->rules.silent_kinds >> b->kind & 1) ||
	       (b->flags & INSN_RET && is_taken && f->rules.has_return_stack);
}

/** After @p b, an indirect branch. Exception returns take nothing from the return stack.
 * Spec: IHI 0064, "Return stack". */
static inline uint8_t flow_popping_after(const struct flow *f, const struct flow_block *b)
{
	return f->rules.has_return_stack && !(b->flags & INSN_ERET) ? FLOW_POPS_TOP
								    : FLOW_POPS_NOTHING;
}

/** Has the return stack what the branch before took from it? */
static inline bool flow_may_pop(const struct flow *f)
{
	return f->popping == FLOW_POPS_FORMER_TOP || (f->popping && f->stack_nr);
}

/** What a call pushes. A silent one has no link to the block after it. */
static inline struct flow_return flow_return_of(const struct flow *f, uint32_t call)
{
	const struct flow_block *b = &f->blocks.all.data[call];
	bool is_silent = f->rules.silent_kinds >> b->kind & 1;

	return (struct flow_return){b->start + b->bytes, is_silent ? FLOW_NO_BLOCK : call, b->isa};
}

/** Instruction set after a direct branch that is taken. */
static inline enum isa flow_target_isa(const struct flow *f, const struct flow_block *b)
{
	return (enum isa)(b->flags & INSN_SWITCH ? f->rules.switched[b->isa] : b->isa);
}

/** Where the block after a branch is noted, when it is known without the trace. */
static inline uint32_t *flow_link_of(struct flow *f, uint32_t at, bool is_taken)
{
	const struct flow_block *b = &f->blocks.all.data[at];
	struct flow_link *l = &f->blocks.links.data[at];

	if (is_taken && b->flags & INSN_LINK && b->kind != INSN_INDIRECT &&
	    f->rules.has_return_stack)
		return &l->other;
	/* So that a bit that meets it finds no link. */
	if (flow_is_silent(f, b))
		return &l->other;
	return &l->next[is_taken];
}

/** The path's letter @p i; nr 0: it has no more. */
static inline struct flow_letter flow_letter_of(const struct flow *f, const struct flow_path *p,
						unsigned int i)
{
	return f->rules.letters[i < FLOW_PATH_LETTERS ? p->key >> 8 * i & 0xff : 0];
}

static inline void flow_add_range(struct flow *f, uint32_t nr_insns)
{
	int64_t step = (int32_t)f->step;

	f->totals.nr_insns += nr_insns * (uint64_t)step;
	f->totals.nr_ranges += (uint64_t)step;
}

/** Before a block that begins with CODE_SWITCHES. */
void flow_put_switch(struct flow *f);

static inline void flow_put_item(struct flow *f, uint32_t block, bool is_taken)
{
	const struct flow_block *b = &f->blocks.all.data[block];

	flow_add_range(f, b->nr_insns);
	if (__builtin_expect(b->flags & FLOW_BLOCK_SWITCHES, 0))
		flow_put_switch(f);
	if (!f->items) {
		f->blocks.counts.data[block].nr[is_taken] += f->step;
		f->nr_counted++;
		return;
	}
	f->items[f->nr_items++] = block << 1 | is_taken;
}

#endif
