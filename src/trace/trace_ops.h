/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_TRACE_OPS_H
#define TRACE_TRACE_OPS_H

#include "analyze/analyze.h"
#include "trace/trace_input.h"

/* Trace that is records of sampled operations (Arm SPE): no code is needed to read it. */

/** One complete record, or the first of several that are alike. */
struct trace_op {
	struct ana_op op;
	uint64_t pc; /* 0 without ANA_OP_HAS_PC */
	uint64_t nr; /* records that it stands for, itself included: see trace_ops_fold */
};

/** Operations between two restarts that differ only in this, and have the same answer to who ran,
 * may be emitted as one: as the first of them, in its place. */
enum trace_ops_fold {
	TRACE_OPS_EACH,
	TRACE_OPS_BY_ACCESS, /* times, places in the buffer, physical addresses */
	TRACE_OPS_BY_CODE,   /* these, latencies, and addresses of data */
	TRACE_OPS_BY_OWNER,  /* all but contexts, levels and security */
};

/** Ticks [from, to) at which an answer holds. */
struct trace_stay {
	uint64_t from, to;
};

/** Who ran it, and when: as a question to the unit's code and threads; at the level of the
 * operation. */
static inline struct code_key trace_op_key(const struct trace_op *o, struct clew_perf_ns bound)
{
	const struct ana_op *op = &o->op;

	return (struct code_key){
		.context = {.arch = CODE_ARM,
			    .arm = {.el = op->level,
				    .security = op->security,
				    .upper_el = op->level,
				    .is_64 = true,
				    .has_cid = op->has & ANA_OP_HAS_CONTEXT_EL1,
				    .has_vmid = op->has & ANA_OP_HAS_CONTEXT_EL2,
				    .cid = op->context_el1,
				    .vmid = op->context_el2}},
		.ticks = {op->has & ANA_OP_HAS_TIME ? op->ticks : 0               },
		.bound = bound
        };
}

/** ... at @p level, to which the operation at @p pc may have led. The code of an exception return
 * decides if it led into a guest. */
static inline void trace_op_key_at(const struct code_source *code, uint8_t level, uint64_t pc,
				   struct code_key *key)
{
	struct code_arm_context *c = &key->context.arm;
	uint8_t from = c->el;

	if (level < from && code->landmark)
		c->entry = (uint8_t)code->landmark(code->ctx, code->space(code->ctx, key), pc);
	c->el = level;
	c->upper_el = level < from ? from : level;
}

/** Operations of one unit, in the order of its bytes; live for the call. */
struct trace_ops_batch {
	const struct trace_op *ops;
	size_t nr;
	struct clew_perf_ns bound; /* they ran no later than this; 0: unknown */
};

/** What a unit's bytes held. */
struct trace_ops_counts {
	uint64_t nr_bytes;
	uint64_t nr_records;       /* complete ones */
	uint64_t nr_cut;           /* the buffer ended in them */
	uint64_t nr_damaged;       /* of other reasons */
	uint64_t nr_skipped_bytes; /* to find a start again */
	uint64_t nr_padding_bytes;
};

struct budget;

/**
 * What one pass over a unit counted, for a later one with the same fold: that need not read the
 * bytes again where the answers to who ran hold for all that was counted together. The bytes have
 * to be at the same place in memory.
 */
struct trace_ops_kept {
	enum trace_ops_fold fold;
	struct budget *budget; /* what all units may keep; borrowed */
	void *data;            /* the reader's type's; freed with kept_free */
};

struct os_helper;

struct trace_ops_sink {
	enum clew_err (*ops)(void *ctx, const struct trace_op *ops, size_t nr);
	enum trace_ops_fold fold;
	/** The ticks at which the answers about @p op hold. With fold. */
	struct trace_stay (*stay)(void *ctx, const struct trace_op *op);
	/** With fold: a second thread that may read, too. Calls are still made one at a time. NULL:
	 * there is none. */
	struct os_helper *helper;
	/** With helper, from either thread: these bytes were read, and are not soon read again. */
	void (*release)(void *ctx, struct bytes in);
	struct trace_ops_kept *kept; /* NULL: none */
	bool keeps;                  /* with kept: fill it; else use it */
	void *ctx;
	struct trace_listener listener;
};

/** What reads the bytes of one unit. */
struct trace_ops_reader_type {
	/** @p config is the unit's; @p sink is copied. @return NULL: no memory. */
	void *(*reader_new)(const struct trace_unit *unit, const struct trace_ops_sink *sink);
	void (*reader_free)(void *reader);
	void (*kept_free)(void *data); /* trace_ops_kept.data */
	/** @p in is at @p offset of the unit's bytes. */
	enum clew_err (*feed)(void *reader, struct bytes in, uint64_t offset);
	/** What follows does not continue what came before; all complete records are delivered. */
	enum clew_err (*restart)(void *reader);
	/** So far. */
	const struct trace_ops_counts *(*counts)(const void *reader);
};

#endif
