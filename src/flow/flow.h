/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include <clew/err.h>

#include "base/bytes.h"
#include "image/code_source.h"
#include "isa/insn.h"

/*
 * A processor's trace + code -> what was executed. One flow decodes one trace source.
 *
 * Hardware trace holds only what the code does not show: whether a branch was taken, and where an
 * indirect one went. So a flow walks through the code: code_source has the bytes at an address,
 * `isa` classifies the instruction, and the trace is asked at each waypoint, an instruction that it
 * reports.
 *
 *   front end (flow/etm)   packets of one protocol, speculation resolved; flow_core.h says what a
 *                          front end is, tests/make/toy_front.c is the smallest one
 *   flow_walk.h            execution, from waypoint to waypoint
 *   flow_blocks.h          instructions up to a waypoint: decoded once, then a number
 *   flow_paths.h           sequences of branches that were walked before, taken as a whole
 *   flow_insn_counter.h    how many instructions lie between two addresses
 *   flow_one.h             all of that in one thread
 *   flow_ring.h            parts of a trace, decoded ahead by several threads
 *
 * With a consumer, blocks and events are delivered in batches, in order of execution: only what was
 * committed, and a context or timestamp before the first instruction that it belongs to. Without a
 * consumer, branches are only counted, and flow_edges() returns the counts at the end. Events and
 * counts are the same for all protocols.
 */
struct flow;

/** Instructions [start, start + bytes) in one address space, the last one a waypoint. */
struct flow_block {
	uint64_t start;
	uint64_t target; /* of a direct branch */
	uint32_t bytes;
	uint32_t space; /* of code_source */
	uint16_t nr_insns;
	uint8_t isa;         /* enum isa */
	uint8_t kind, flags; /* of the waypoint, isa/insn.h */
	uint8_t last_bytes;  /* of the waypoint */
	uint8_t detail;      /* of the waypoint: insn.detail */
};
_Static_assert(sizeof(struct flow_block) == 32, "half a cache line");

/** No protocol has all of them. */
enum flow_event_kind {
	FLOW_EV_NO_SYNC,   /* reason; decoding resumes at the next synchronisation */
	FLOW_EV_TRACE_ON,  /* is_overflow; is_target: at address, isa, after the context there */
	FLOW_EV_CONTEXT,   /* context, space */
	FLOW_EV_RANGE,     /* [address, end): executed, but not to a waypoint: up to an exception,
			      or to unreadable code, or to a source address, or the first part
			      of a long run without one */
	FLOW_EV_NO_PATH,   /* from address to end, by count instructions (0: unknown), the trace
			      does not say on which way (ETM: Q) */
	FLOW_EV_NACC,      /* no code at address */
	FLOW_EV_NO_TARGET, /* an exception, or Q, came before the target of a branch:
			      instructions up to end are unknown (Q: count of them) */
	FLOW_EV_EXCEPTION, /* number, cause; address: preferred return address */
	FLOW_EV_EXCEPTION_RET,
	FLOW_EV_FUNCTION_RET,
	FLOW_EV_PE_RESET,
	FLOW_EV_TIMESTAMP, /* ticks; 0: the unit has no time source */
	FLOW_EV_CYCLES,    /* count, or unknown; is_target: they end with the branch before */
	FLOW_EV_BOUND,     /* bound: what follows ran no later than this (flow_set_bound) */
	FLOW_EV_EVENT,     /* number: bits 3:0 */
	FLOW_EV_TS_MARKER,
	FLOW_EV_INSTRUMENTATION, /* value, el */
	FLOW_EV_TRANSACTION,     /* number: enum flow_transaction */
	FLOW_EV_UNSUPPORTED, /* a packet of a configuration that is not decoded: header in number */
	FLOW_EV_END,
	FLOW_EV_DROPPED, /* value: branches that were reported while no address was known, in a row:
			    where that was, and where the branch before went, is unknown */
	FLOW_EV_SWITCH,  /* number: code_key.nr_switches of the block that follows */
	FLOW_EV_TRACE_OFF, /* cause; is_target: to address, which is not traced; end: of an
			      interrupt: where it came */
	FLOW_EV_NOTE, /* number: enum flow_note; value, count: its payload; is_target: execution is
			 at address; has_end: end is the note's own place */
	NR_FLOW_EVENTS
};

/** What a trace of Intel PT says besides execution. Spec: Intel SDM volume 3, "Packet Definitions".
 */
enum flow_note {
	FLOW_NOTE_PSB,     /* value: offset of the packet in the unit's trace */
	FLOW_NOTE_CBR,     /* value: core:bus ratio; count: 1: of a PSB+ */
	FLOW_NOTE_PTWRITE, /* value: operand; has_count: the trace says where, else the code does */
	FLOW_NOTE_MWAIT,   /* value: hints; count: extensions */
	FLOW_NOTE_PWRE,    /* value: sub-state | state << 4 | HW << 7 of byte 2 << 8 */
	FLOW_NOTE_EXSTOP,  /* has_count: at an instruction */
	FLOW_NOTE_PWRX,    /* value: deepest | last << 4 | wake reason << 8 */
	FLOW_NOTE_EVD,     /* of the CFE that follows; count: type; value: its data */
	FLOW_NOTE_CFE,     /* count: type; value: vector; has_count: at an instruction */
	FLOW_NOTE_IF,      /* value: EFLAGS.IF from now on; count: enum flow_note_if */
	FLOW_NOTE_PEBS_ITEM, /* count: type of the block << 8 | item; value */
	FLOW_NOTE_PEBS,      /* of the items since the one before */
	FLOW_NOTE_POINT,     /* where code is not followed: execution is at address; count: enum
				flow_point; value: 1: in a transaction */
	NR_FLOW_NOTES
};

enum flow_note_if {
	FLOW_IF_HERE,
	FLOW_IF_BRANCH, /* with the branch, or the begin of tracing, that comes next */
	FLOW_IF_STATUS, /* as it was before, unless trace was lost */
};

enum flow_point {
	FLOW_POINT_HERE,      /* by a branch, or as another packet says */
	FLOW_POINT_INTERRUPT, /* which comes there: its exception follows */
	FLOW_POINT_ABORT,     /* of a transaction; the same */
	FLOW_POINT_END,       /* where an interrupt ends tracing; has_count: its target is known */
};

enum flow_no_sync {
	FLOW_NO_SYNC_INIT,
	FLOW_NO_SYNC_RESET,
	FLOW_NO_SYNC_OVERFLOW,
	FLOW_NO_SYNC_DISCARD,
	FLOW_NO_SYNC_BAD_PACKET,
	FLOW_NO_SYNC_BAD_IMAGE, /* the code does not fit the trace: what */
	NR_FLOW_NO_SYNCS
};

/** For people: "the trace unit stopped". */
const char *flow_no_sync_text(enum flow_no_sync reason);

/** What made an exception, as far as consumers care. */
enum flow_cause {
	FLOW_CAUSE_OTHER, /* a fault, a trap, a breakpoint */
	FLOW_CAUSE_CALL,  /* an instruction that asks for it: the next system call, or a call of a
			     hypervisor */
	FLOW_CAUSE_ASYNC, /* an interrupt, a reset, or else from outside */
};

enum flow_transaction {
	FLOW_TRANS_INIT,
	FLOW_TRANS_START,
	FLOW_TRANS_COMMITTED,
	FLOW_TRANS_FAILED
};

struct flow_event {
	uint8_t kind;   /* enum flow_event_kind */
	uint8_t reason; /* enum flow_no_sync */
	uint8_t isa, el;
	uint8_t cause; /* enum flow_cause */
	bool is_overflow, has_count;
	bool is_target; /* EXCEPTION: the branch before went to address, where nothing ran;
			   TRACE_ON, TRACE_OFF: has address */
	bool has_end;   /* NOTE, TRANSACTION: its place is known; EXCEPTION, TRACE_OFF of x86:
			   execution was known to have come where the interrupt came */
	uint32_t number, count, space;
	uint64_t address, end;
	union {
		struct clew_ticks ticks;   /* TIMESTAMP */
		struct clew_perf_ns bound; /* BOUND */
		uint64_t value;            /* of the others */
	};
	uint64_t offset; /* stream byte of its packet */
	struct code_context context;
	const char *what; /* static words for BAD_PACKET and BAD_IMAGE */
};

/** An item is a block's number << 1 | 1 if its branch was taken, or what else its waypoint is was
 * executed (ETM: the E atom); or, with FLOW_ITEM_EVENT set, an event's index in this batch. */
enum { FLOW_ITEM_EVENT = 1u << 31 };

/**
 * Borrowed for the call. A block's number means the same in all batches of one epoch of this flow,
 * and nothing in those of another: what is remembered by number is to be forgotten, or kept apart,
 * when epoch differs from the batch before. With one thread an epoch that has ended does not come
 * again. With nr_threads > 1 each thread numbers blocks of its own: their epochs interleave and may
 * recur, with the numbers they had. What is cached per epoch needs a limit: nothing says when one
 * has ended for good.
 */
struct flow_batch {
	const uint32_t *items;
	size_t nr;
	const struct flow_block *blocks; /* by number; moves, and grows, from batch to batch */
	const struct flow_event *events;
	uint32_t epoch;
};

/** How much of execution. */
enum flow_detail {
	FLOW_ALL,
	FLOW_POINTS, /* places that packets name, without what runs between them: FLOW_NOTE_POINT */
	FLOW_SYNCS,  /* only those of synchronisations */
};

/** Of any front end's flow. */
struct flow_opts {
	const struct code_source *code; /* borrowed */
	/** Takes what was executed, in order; NULL: only count. Any error ends the decoding. */
	enum clew_err (*batch)(void *ctx, const struct flow_batch *b);
	void *ctx;
	size_t max_cache_bytes; /* of blocks and paths, of all threads; 0: 32 MiB */
	/** More than 1: decode in so many threads. All calls, and all batches, stay in the calling
	 * thread; @p code is asked in all. Items and events are those of one thread. A unit that
	 * speculates is decoded in one. */
	unsigned int nr_threads;
	uint8_t detail;    /* enum flow_detail; of Intel PT */
	bool has_cycles;   /* of Intel PT, which is slower with them: FLOW_EV_CYCLES */
	size_t part_bytes; /* tests: of input for each thread; 0: up to 64 KiB */
};

void flow_free(struct flow *f);

/** Decode @p in whole. Any chunking gives the same items and events.
 * @return CLEW_OK; CLEW_NO_MEMORY; the consumer's error. Bad trace is an event, not an error. */
enum clew_err flow_feed(struct flow *f, struct bytes in);

/** The next byte does not continue the last one (a barrier, a new buffer): end what is open, wait
 * for a synchronisation. @p offset: the next byte's. */
enum clew_err flow_restart(struct flow *f, uint64_t offset);

/** Deliver the batch as far as it is. With several threads what they have in hand stays. */
enum clew_err flow_flush(struct flow *f);

/** The input is over: what is open, then FLOW_EV_END. Delivers the last batch. */
enum clew_err flow_finish(struct flow *f);

/** What is fed from here on ran no later than @p bound: for code_key, and for the consumer as
 * FLOW_EV_BOUND. Of a recording without times, its records are numbered instead. */
void flow_set_bound(struct flow *f, struct clew_perf_ns bound);

/** From here on; no more than it began with. What is used already is given back only when the cache
 * is cleared. */
void flow_set_max_cache(struct flow *f, size_t bytes);

struct flow_totals {
	uint64_t nr_insns, nr_ranges, nr_exceptions, nr_nacc, nr_no_sync, nr_dropped;
	uint64_t nr_packets, nr_bytes;
};
void flow_totals_add(struct flow_totals *to, const struct flow_totals *t);
void flow_totals_subtract(struct flow_totals *from, const struct flow_totals *t);
/** Valid until the next call. */
const struct flow_totals *flow_totals(struct flow *f);

/** With opts.batch == NULL: how often each block ran, and each exit of it was taken. */
struct flow_edge {
	const struct flow_block *from; /* its waypoint is the branch; of kind INSN_PLAIN: executed,
					  but not to a waypoint, as FLOW_EV_RANGE */
	uint64_t to; /* next address, if has_to: the fall-through of one not taken too */
	uint64_t nr;
	bool is_taken;
	bool has_to; /* else an exception, or the end of the trace, came before it was known */
};
/** In no order; counts of one edge may come in parts. @p e lives for the call. @return false: @p
 * edge said so, or no memory. */
bool flow_edges(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx);

#endif
