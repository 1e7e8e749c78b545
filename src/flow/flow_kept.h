/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_KEPT_H
#define FLOW_FLOW_KEPT_H

#include "base/vec.h"
#include "flow/flow.h"

/*
 * Counts of blocks, pieces of code that no block stands for, and edges, that outlive the cache they
 * were counted in, or come from several: by address, not by block number. Grows with the code that
 * ran, not with the trace.
 */
struct flow_kept_block {
	struct flow_block block;
	uint64_t nr[2]; /* not taken, taken */
};

/** Where an indirect branch went. */
struct flow_kept_edge {
	uint32_t from; /* index of the block */
	uint64_t to, nr;
};

struct flow_kept {
	struct {
		VEC(struct flow_kept_block);
	} blocks;
	struct {
		VEC(struct flow_kept_edge);
	} edges;
	uint32_t *block_slots, *edge_slots; /* hash tables of indexes */
	size_t nr_block_slots, nr_edge_slots;
};

void flow_kept_done(struct flow_kept *k);

/** Add to the counts of @p b. @return its number here; UINT32_MAX: out of memory. */
uint32_t flow_kept_add_block(struct flow_kept *k, const struct flow_block *b, const uint64_t nr[2]);
/** @return false: out of memory. */
bool flow_kept_add_edge(struct flow_kept *k, uint32_t from, uint64_t to, uint64_t nr);
/** Add all of @p from to @p to. @return false: out of memory. */
bool flow_kept_merge(struct flow_kept *to, const struct flow_kept *from);

/** As flow_edges(). */
bool flow_kept_edges(const struct flow_kept *k, bool (*edge)(void *ctx, const struct flow_edge *e),
		     void *ctx);

/** The two ways out of @p b; of an indirect branch those taken without a target: those that are
 * left of @p nr when @p nr_known had one. */
bool flow_block_edges(const struct flow_block *b, const uint64_t nr[2], uint64_t nr_known,
		      bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx);

#endif
