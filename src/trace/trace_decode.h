/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_TRACE_DECODE_H
#define TRACE_TRACE_DECODE_H

#include "flow/flow.h"
#include "trace/trace_ops.h"

/** Decode all units, each with its own flow, or reader of operations. */
struct trace_decode_opts {
	unsigned int nr_threads; /* 0: as many as there are CPUs, 1: this one alone */
	bool splits_source_ranges;
	uint8_t detail;         /* enum flow_detail */
	bool has_cycles;        /* as flow_opts */
	size_t max_cache_bytes; /* of all units of a session together; 0: as flow_opts */
	/** Of each unit: leave it out? NULL: none. */
	const bool *skips;
	/** In order for each unit; called from the calling thread only. NULL: only count. */
	enum clew_err (*batch)(void *ctx, size_t unit, const struct flow_batch *b);
	/** The same of units with operations in place of a flow. NULL: only count. */
	enum clew_err (*ops)(void *ctx, size_t unit, const struct trace_ops_batch *b);
	enum trace_ops_fold ops_fold;
	bool has_no_helper; /* with ops_fold: no other thread */
	bool ops_keeps;     /* fill trace_input.kept; else use it */
	/** With ops_fold: the ticks at which the answers to @p key hold. */
	struct trace_stay (*ops_stay)(void *ctx, size_t unit, const struct code_key *key);
	enum clew_err (*ops_end)(void *ctx, size_t unit, const struct trace_ops_counts *c);
	/** After the last byte of a unit: totals, and with batch == NULL its edges are asked for
	 * here. */
	enum clew_err (*unit_end)(void *ctx, size_t unit, struct flow *flow);
	void *ctx;
	struct trace_listener listener;
	const struct cs_listener *coresight; /* as trace_sink's */
};
/** Units that are not decodable are omitted. */
enum clew_err trace_decode(struct trace_input *t, const struct trace_decode_opts *opts,
			   struct clew_diag *diag);

/** Incremental variant, in one stream, number 0. @p opts is copied. */
struct trace_decoding;
enum clew_err trace_decoding_new(struct trace_decoding **ret, struct trace_input *t,
				 const struct trace_decode_opts *opts);
/** The caller picks the stream to advance. NULL in *ret: this input has no separate streams. */
enum clew_err trace_decoding_new_streams(struct trace_decoding **ret, struct trace_input *t,
					 const struct trace_decode_opts *opts);
void trace_decoding_free(struct trace_decoding *d);
size_t trace_decoding_streams(const struct trace_decoding *d);
/** Decode a piece of a stream's trace, and deliver all that results. @return CLEW_END: it is over,
 * with the end of each of its units. */
enum clew_err trace_decoding_step(struct trace_decoding *d, size_t stream);

#endif
