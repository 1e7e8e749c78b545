/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_TRACE_RANGES_TEXT_H
#define FORMAT_TRACE_TRACE_RANGES_TEXT_H

#include <clew/trace.h>

#include "format/trace/block_memo.h"
#include "trace/trace_input.h"

/*
 * What a trace unit saw, a line for each executed range and each event, as OpenCSD's users know
 * them:
 *
 *	ID START END ISA EL SEC CTXID VMID     executed: [START, END), hex; -: unknown
 *	ID EVENT KIND DETAILS
 *
 * with who ran at the end of each range, if the batches have it,
 *
 * or as one JSON object per line. docs/decisions/etm-golden.md
 */
struct trace_ranges_text {
	uint32_t id; /* the unit's */
	bool is_json;
	bool is_later;          /* this ID was decoded in a session before */
	uint32_t wants;         /* bit per enum clew_trace_kind */
	struct buf out;         /* the caller empties it after each batch */
	struct block_memo memo; /* the part that is the block's */
	struct buf context;     /* the part that is the context's */
	enum clew_arch arch;
	struct clew_arm_context arm; /* or x86, as arch says */
	struct clew_x86_context x86;
	bool has_context;
	struct buf who; /* as text or as JSON; empty: none */
};

enum {
	TRACE_RANGES_NR_KINDS = CLEW_TRACE_NOTE + 1,
	TRACE_RANGES_ALL_EVENTS = (1u << TRACE_RANGES_NR_KINDS) - 1
};

/** @p t zeroed but for id, is_json, is_later and wants. */
void trace_ranges_text_init(struct trace_ranges_text *t);

/** @return CLEW_OK, CLEW_NO_MEMORY. */
enum clew_err trace_ranges_text_batch(struct trace_ranges_text *t,
				      const struct clew_trace_batch *b);

/** The last line. */
void trace_ranges_text_end(struct trace_ranges_text *t);
void trace_ranges_text_done(struct trace_ranges_text *t);

/** The kind's word in a line; NULL: it has none. */
const char *trace_event_word(enum clew_trace_kind kind);

#endif
