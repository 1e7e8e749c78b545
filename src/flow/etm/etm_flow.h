/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_FLOW_H
#define FLOW_ETM_ETM_FLOW_H

#include "image/code_source.h"
#include "isa/insn.h"
#include "packet/etm/etm_packet.h"

/*
 * ETMv4 and ETE packets + code -> what was executed. One etm_flow decodes one trace source.
 *
 * Executed code comes as blocks: straight runs of instructions that end with a waypoint. A block is
 * looked at once; after that it is a number. Speculation is resolved: only committed elements come
 * out, in order of execution. A context or timestamp stands before the first instructions it
 * belongs to. Spec: IHI 0064 "Trace analyzer: processing elements"; docs/spec/coresight.md.
 */
struct etm_flow;

/** Instructions [start, start + bytes) in one address space, the last one a waypoint. */
struct etm_block {
	uint64_t start;
	uint64_t target; /* of a direct branch */
	uint32_t bytes;
	uint32_t space; /* of code_source */
	uint16_t nr_insns;
	uint8_t isa;         /* enum isa */
	uint8_t kind, flags; /* of the waypoint, isa/insn.h */
	uint8_t last_bytes;  /* of the waypoint */
};

enum etm_event_kind {
	ETM_EV_NO_SYNC,   /* reason; decoding goes on at the next async */
	ETM_EV_TRACE_ON,  /* is_overflow */
	ETM_EV_CONTEXT,   /* context, space */
	ETM_EV_RANGE,     /* [address, end): executed, but not to a waypoint: up to an exception, or
			     to unreadable code, or to a source address */
	ETM_EV_NO_PATH,   /* Q: from address to end, by count instructions (0: unknown) */
	ETM_EV_NACC,      /* no code at address */
	ETM_EV_NO_TARGET, /* an exception, or Q, came before the target of a branch was told:
			     instructions up to end are not known (Q: count of them) */
	ETM_EV_EXCEPTION, /* number; address: preferred return address */
	ETM_EV_EXCEPTION_RET,
	ETM_EV_FUNCTION_RET,
	ETM_EV_PE_RESET,
	ETM_EV_TIMESTAMP, /* value; 0: the unit has no time source */
	ETM_EV_CYCLES,    /* count, or unknown */
	ETM_EV_BOUND,     /* value: what follows ran no later than this (etm_flow_set_bound) */
	ETM_EV_EVENT,     /* number: bits 3:0 */
	ETM_EV_TS_MARKER,
	ETM_EV_INSTRUMENTATION, /* value, el */
	ETM_EV_TRANSACTION,     /* number: enum etm_transaction */
	ETM_EV_UNSUPPORTED, /* a packet of a configuration that is not decoded: header in number */
	ETM_EV_END,
	ETM_EV_DROPPED, /* value: atoms that came while no address was known, in a row: where that
			   was, and where the branch before went, is not known */
	NR_ETM_EVENTS
};

enum etm_no_sync {
	ETM_NO_SYNC_INIT,
	ETM_NO_SYNC_RESET,
	ETM_NO_SYNC_OVERFLOW,
	ETM_NO_SYNC_DISCARD,
	ETM_NO_SYNC_BAD_PACKET,
	ETM_NO_SYNC_BAD_IMAGE, /* the code does not fit the trace: what */
	NR_ETM_NO_SYNCS
};

/** OpenCSD's word: "bad-packet". */
const char *etm_no_sync_word(enum etm_no_sync reason);

/** For people: "the trace unit stopped". */
const char *etm_no_sync_text(enum etm_no_sync reason);

enum etm_transaction { ETM_TRANS_INIT, ETM_TRANS_START, ETM_TRANS_COMMITTED, ETM_TRANS_FAILED };

struct etm_pe_context {
	uint8_t el, security; /* enum code_security */
	uint8_t upper_el;     /* el, or at EL0 what it was before; 0: not known */
	bool is_64, has_cid, has_vmid;
	uint32_t cid, vmid;
};

struct etm_event {
	uint8_t kind;   /* enum etm_event_kind */
	uint8_t reason; /* enum etm_no_sync */
	uint8_t isa, el;
	bool is_overflow, has_count;
	bool is_target; /* EXCEPTION: the branch before went to address, where nothing ran */
	uint32_t number, count, space;
	uint64_t address, end, value;
	uint64_t offset; /* stream byte of the packet that told it */
	struct etm_pe_context context;
	const char *what; /* static words for BAD_PACKET and BAD_IMAGE */
};

/** An item is a block's number << 1 | E (the atom: taken or executed), or, with ETM_ITEM_EVENT set,
 * an event's index in this batch. */
enum { ETM_ITEM_EVENT = 1u << 31 };

/**
 * Borrowed for the call. A block's number means the same in all batches of one epoch of this
 * etm_flow, and nothing in those of another: what is remembered by number is to be forgotten, or
 * kept apart, when epoch differs from the batch before. With one thread an epoch that has ended
 * does not come again. With nr_threads > 1 each thread numbers blocks of its own, and their epochs
 * take turns: one that was left may come again, with the numbers it had. Something may be kept for
 * each; but nothing says when one has ended for good, so bound it.
 */
struct etm_batch {
	const uint32_t *items;
	size_t nr;
	const struct etm_block *blocks; /* by number; moves, and grows, from batch to batch */
	const struct etm_event *events;
	uint32_t epoch;
};

struct etm_flow_opts {
	const struct etm_config *config; /* borrowed, as the source */
	const struct code_source *code;
	/** Takes what was executed, in order; NULL: only count. Any error ends the decoding. */
	enum clew_err (*batch)(void *ctx, const struct etm_batch *b);
	void *ctx;
	bool splits_source_ranges; /* a range of a source address element ends at each N waypoint */
	size_t max_cache_bytes;    /* of blocks and paths, of all threads; 0: 32 MiB */
	/** More than 1: decode in so many threads. All calls, and all batches, stay in the calling
	 * thread; @p code is asked in all. Items and events are those of one thread. A unit that
	 * speculates is decoded in one. */
	unsigned int nr_threads;
	bool goes_plain;   /* tests: no packet goes the straight way */
	size_t part_bytes; /* tests: of input for each thread; 0: up to 128 KiB */
};

struct etm_flow *etm_flow_new(const struct etm_flow_opts *opts);
void etm_flow_free(struct etm_flow *f);

/** Decode @p in whole. Any chunking gives the same items and events.
 * @return CLEW_OK; CLEW_NO_MEMORY; the consumer's error. Bad trace is an event, not an error. */
enum clew_err etm_flow_feed(struct etm_flow *f, struct bytes in);

/** The next byte does not continue the last one (a barrier, a new buffer): end what is open, wait
 * for async. @p offset: the next byte's. */
enum clew_err etm_flow_restart(struct etm_flow *f, uint64_t offset);

/** Deliver the batch as far as it is. With several threads what they have in hand stays. */
enum clew_err etm_flow_flush(struct etm_flow *f);

/** The input is over: what is open, then ETM_EV_END. Delivers the last batch. */
enum clew_err etm_flow_finish(struct etm_flow *f);

/** What is fed from here on ran no later than @p bound, in the input's own clock (perf: ns): for
 * code_key, and told to the consumer by ETM_EV_BOUND. */
void etm_flow_set_bound(struct etm_flow *f, uint64_t bound);

/** From here on; no more than it began with. What is used already is given back only when the cache
 * is cleared. */
void etm_flow_set_max_cache(struct etm_flow *f, size_t bytes);

struct etm_totals {
	uint64_t nr_insns, nr_ranges, nr_exceptions, nr_nacc, nr_no_sync, nr_atoms_dropped;
	uint64_t nr_packets, nr_bytes;
};
void etm_totals_add(struct etm_totals *to, const struct etm_totals *t);
void etm_totals_subtract(struct etm_totals *from, const struct etm_totals *t);
/** Valid until the next call. */
const struct etm_totals *etm_flow_totals(struct etm_flow *f);

/** With opts.batch == NULL: how often each block ran, and each way out of it was taken. */
struct etm_edge {
	const struct etm_block *from; /* its waypoint is the branch; of kind INSN_PLAIN: executed,
					 but not to a waypoint, as ETM_EV_RANGE */
	uint64_t to; /* next address, if has_to: the fall-through of an N atom too */
	uint64_t nr;
	bool is_taken;
	bool has_to; /* else an exception, or the end of the trace, came before it was told */
};
/** In no order; counts of one edge may come in parts. @p e lives for the call. @return false: @p
 * edge said so, or no memory. */
bool etm_flow_edges(struct etm_flow *f, bool (*edge)(void *ctx, const struct etm_edge *e),
		    void *ctx);

#endif
