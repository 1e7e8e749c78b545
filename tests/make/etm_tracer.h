/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_TRACER_H
#define TESTS_MAKE_ETM_TRACER_H

#include "make/etm_encode.h"

/*
 * A trace unit: given what a PE executes, it writes the bytes that an ETMv4 or ETE could have
 * written. What a unit is free to choose (compression, packing, when to commit, how far to
 * speculate) is chosen by the seed: the same calls give the same bytes on every machine.
 *
 * All calls are in order of execution. Calls report what really happened; wrong paths are made up
 * by the unit, and taken back by it.
 */
struct etm_tracer;

struct etm_tracer_opts {
	const struct etm_config *config; /* borrowed; selects the packets that exist */
	struct buf *out; /* borrowed; what is in it may be taken out between calls */
	uint64_t seed;
	uint32_t threshold;  /* of cycle counts, sent in trace info */
	bool has_counts;     /* cycle counting is on */
	uint32_t sync_bytes; /* async, trace info, context and address at least this often; 0: once
			      */
	uint8_t stack_depth; /* of the return stack, 1 to 16, where config->has_return_stack */
	uint8_t variety;     /* percent of choices made at random, not for the fewest bytes */
	uint8_t wrong;       /* percent of waypoints with a wrong path (max_spec > 1) */
	uint8_t sources;     /* percent of taken waypoints with their address (ETE) */
	bool has_wrong_targets; /* a wrong path can begin with a wrong target of an indirect branch,
				   emitted right after the cancel: two addresses in a row */
	bool has_source_after_return; /* a source address after a return that was predicted */
	/* Leave out what OpenCSD 1.3 gets wrong: docs/decisions/etm-speculation.md. The caller does
	 * his part: no cycle counts with commits, neither of the two above. */
	bool spares_opencsd;
};

/** @return NULL: no memory. */
struct etm_tracer *etm_tracer_new(const struct etm_tracer_opts *opts);
void etm_tracer_free(struct etm_tracer *t);

struct etm_place {
	uint64_t address;
	bool is1; /* T32; else A64 or A32, as the context says */
};

/** Tracing begins, or continues after a gap: first an async where there was none yet or what came
 * before was lost, then trace on, context (in full; has_vmid and has_cid are the unit's matter),
 * address. */
void etm_tracer_start(struct etm_tracer *t, struct etm_place at, const struct enc_context *x);

enum etm_waypoint_kind {
	ETM_WP_COND,     /* direct, conditional */
	ETM_WP_DIRECT,   /* always taken */
	ETM_WP_INDIRECT, /* N: its condition failed */
	ETM_WP_OTHER,    /* ISB, WFI, TSTART: E, continues after */
};

/** The waypoint instruction that was executed, all between it and the last one being none. */
struct etm_waypoint {
	uint64_t address;      /* its own */
	uint64_t after;        /* the instruction after it */
	struct etm_place next; /* what is executed next */
	bool is1;              /* it is T32 */
	bool is_taken, is_link, is_eret;
	enum etm_waypoint_kind kind;
};
void etm_tracer_waypoint(struct etm_tracer *t, const struct etm_waypoint *w);

/** From the next instruction on. Directly after a waypoint, start or go. */
void etm_tracer_context(struct etm_tracer *t, const struct enc_context *x);

/** @p ret: the preferred return address, which also gives what was executed before it since the
 * last waypoint. Then go, or start. */
void etm_tracer_exception(struct etm_tracer *t, unsigned int type, struct etm_place ret);
/** Where execution continues after an exception. */
void etm_tracer_go(struct etm_tracer *t, struct etm_place at);

/** @p count: cycles, up to 4095 (NULL: not sent). */
void etm_tracer_timestamp(struct etm_tracer *t, uint64_t value, const uint32_t *count);
void etm_tracer_event(struct etm_tracer *t, unsigned int events);

/** Cycles up to the last waypoint. What cannot be said (less than the threshold, too many) is made
 * to fit. @return what was sent, threshold added. */
uint32_t etm_tracer_cycles(struct etm_tracer *t, uint32_t count);

/** All that was given before is committed first. Then start. */
void etm_tracer_overflow(struct etm_tracer *t);
void etm_tracer_discard(struct etm_tracer *t);
/** Write and commit all that waits. More may follow. */
void etm_tracer_flush(struct etm_tracer *t);

struct etm_tracer_stats {
	uint64_t nr_waypoints, nr_addresses, nr_predicted, nr_syncs, nr_wrong, nr_cancelled;
	uint64_t nr_commits, nr_sources;
};
const struct etm_tracer_stats *etm_tracer_stats(const struct etm_tracer *t);

#endif
