/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_ETM_LOG_H
#define TESTS_PROP_ETM_LOG_H

#include "flow/flow.h"

/*
 * What etm_flow said, in a form that two decodings, or a decoding and the truth, can be compared
 * in: batches, block numbers and epochs are gone.
 */
enum { ETM_LOG_INSN = NR_FLOW_EVENTS }; /* kind of an instruction; others: enum flow_event_kind */

struct etm_log_entry {
	uint8_t kind;
	uint8_t isa, el; /* INSN; INSTRUMENTATION: el */
	uint8_t mark;    /* INSN: 'E', 'N' waypoint of a block; 0: any other, or not known */
	uint32_t number; /* INSN and CONTEXT: space; else reason, number, count */
	uint64_t address, value;
};

bool etm_log_is_equal(const struct etm_log_entry *a, const struct etm_log_entry *b);
/** Is it reported whatever became of the instructions around it? Timestamps, counts, events and
 * kin. */
bool etm_log_is_note(const struct etm_log_entry *e);
/** "10000-1000c a64 el1 E", "EXCEPTION 0xe return 10004", ..., in static storage. */
const char *etm_log_text(const struct etm_log_entry *e);

/** Takes batches and hands on entries. */
struct etm_log {
	const struct code_source *code; /* for the lengths of T32 instructions */
	/** NULL: only the digest. @return false: enough. */
	bool (*entry)(void *ctx, const struct etm_log_entry *e);
	void *ctx;
	bool by_block; /* one entry for a straight run: address, value = its end */
	bool drops_marks;
	uint8_t el; /* now */
	uint64_t nr_entries, nr_insns, nr_wrong_counts;
	uint64_t digest; /* of all entries so far */
};

/** For etm_flow_opts.batch; ctx is a struct etm_log. */
enum clew_err etm_log_batch(void *ctx, const struct flow_batch *b);

/** Feed @p in in pieces of @p piece bytes (0: in one) to a decoder, and finish. */
enum clew_err etm_log_decode(struct flow *f, struct bytes in, size_t piece);

/** Add one more entry to the digest and the count, and hand it on. */
bool etm_log_put(struct etm_log *l, const struct etm_log_entry *e);

#endif
