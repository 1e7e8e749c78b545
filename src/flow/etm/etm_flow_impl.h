/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_FLOW_IMPL_H
#define FLOW_ETM_ETM_FLOW_IMPL_H

#include "flow/etm/etm_flow.h"
#include "flow/flow_core.h"

enum { ETM_MAX_QUEUE = 64 << 10 }; /* elements that wait for a commit; more are a broken stream */

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
	/* reported even where the elements before them were cancelled or lost: */
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
	bool is_of_next;            /* CONTEXT: came after the P0 element that follows */
	struct etm_context context; /* CONTEXT */
	uint32_t a;                 /* atoms, exception number, count, events */
	uint64_t value;             /* address, timestamp, ... */
	uint64_t offset;
};

enum etm_sync { ETM_WAIT_ASYNC, ETM_WAIT_INFO, ETM_RUNNING };

struct etm_flow {
	struct flow flow;
	struct etm_flow_opts opts;
	const struct etm_config *config;
	struct etm_packets packets;
	enum etm_sync sync;
	bool was_overflow;

	/* Waiting for a commit. */
	struct {
		VEC(struct etm_elem);
	} queue;
	size_t head;              /* the oldest in the queue */
	uint32_t depth;           /* P0 elements in it, placeholders included */
	uint32_t nr_placeholders; /* P0 elements from before the sync, the oldest of all */
	struct etm_elem pending;  /* an exception or Q that still lacks its address, */
	bool has_pending;

	bool has_context; /* of a part: one came */
	bool repeats_ids; /* the next context has the IDs again, where they are traced */

	/* The last exception return from EL2, and what code it is. */
	uint64_t entry_pc;
	uint32_t entry_space;
	uint8_t entry; /* enum code_landmark */

	uint8_t forms[256]; /* of headers, etm_fast.c */
};

static inline struct etm_flow *etm_flow_of(struct flow *f)
{
	return (struct etm_flow *)f; /* its first member */
}

/* --- etm_walk.c: elements that are committed --- */

/** @return false: the code or the stream does not fit; flow_front.lose() was called. */
bool etm_walk_element(struct etm_flow *f, const struct etm_elem *e);
/** A source address: a branch there was taken; those on the way were not. @return As
 * etm_walk_element(). */
bool etm_walk_source(struct etm_flow *f, const struct etm_elem *e);
/** Elements without effect on execution (timestamp, cycle count, event): reported even after a
 * cancel. */
void etm_walk_note(struct etm_flow *f, const struct etm_elem *e);
void etm_walk_forget(struct etm_flow *f);

/* --- etm_queue.c: elements that wait --- */

bool etm_queue_add(struct etm_flow *f, const struct etm_elem *e);
bool etm_queue_commit(struct etm_flow *f, uint32_t n);
bool etm_queue_cancel(struct etm_flow *f, uint32_t n);
bool etm_queue_mispredict(struct etm_flow *f);
/** Perform what waits for the next P0 element; there is none in it. */
void etm_queue_perform_rest(struct etm_flow *f);
void etm_queue_drop(struct etm_flow *f, bool has_notes);
/** End of input: report pending notes, and transactions that are certain to have committed or
 * failed. */
void etm_queue_end(struct etm_flow *f);

/* --- etm_fast.c --- */

void etm_fast_init(struct etm_flow *f);
/** Decode fast what can be: none of @p in, some or all. */
void etm_fast_decode(struct etm_flow *f, struct bytes *in);

/** Instruction set at an address that came with @p is, in the context at hand. */
static inline enum isa etm_isa_of(const struct etm_flow *f, uint8_t is)
{
	return is ? ISA_T32 : f->flow.context.arm.is_64 ? ISA_A64 : ISA_A32;
}

#endif
