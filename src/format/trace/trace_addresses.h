/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_TRACE_ADDRESSES_H
#define FORMAT_TRACE_TRACE_ADDRESSES_H

#include "flow/flow_code.h"
#include "format/trace/block_memo.h"
#include "trace/trace_decode.h"

/*
 * The address of each executed instruction, in order, in lower-case hex without 0x, a line each.
 * However a decoder splits what ran into ranges, this is the same.
 */
struct trace_addresses {
	struct flow_code code; /* of the unit: instructions may be of different sizes */
	/** Takes what is in @p out, and empties it. A batch may be of billions of instructions:
	 * it is called whenever there is much. */
	enum clew_err (*full)(void *ctx, struct buf *out);
	void *ctx;
	struct buf out; /* what was not given to full() yet */
	struct block_memo memo;
};

/** @return CLEW_OK, CLEW_NO_MEMORY; what full() says. */
enum clew_err trace_addresses_batch(struct trace_addresses *a, const struct flow_batch *b);
void trace_addresses_done(struct trace_addresses *a);

#endif
