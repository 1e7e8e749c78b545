/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_COUNT_STORE_H
#define FLOW_FLOW_COUNT_STORE_H

#include "base/vec.h"
#include "flow/flow.h"

/*
 * Counts of blocks, pieces of code that no block stands for, and edges, that outlive the cache they
 * were counted in, or come from several: by address, not by block number. Grows with the code that
 * ran, not with the trace.
 */
enum { FLOW_NOT_STORED = UINT32_MAX };

struct flow_stored_block {
	struct flow_block block;
	uint64_t nr[2]; /* not taken, taken */
};

/** Where an indirect branch went. */
struct flow_stored_edge {
	uint32_t from; /* index of the block */
	uint64_t to, nr;
};

struct flow_count_store {
	struct {
		VEC(struct flow_stored_block);
	} blocks;
	struct {
		VEC(struct flow_stored_edge);
	} edges;
	struct flow_count_slots {
		uint32_t *slots; /* a hash table of indexes */
		size_t nr;
	} block_slots, edge_slots;
};

void flow_count_store_done(struct flow_count_store *s);

/** Add to the counts of @p b. @return its number here; FLOW_NOT_STORED: out of memory. */
uint32_t flow_count_store_add_block(struct flow_count_store *s, const struct flow_block *b,
				    const uint64_t nr[2]);
/** @return false: out of memory. */
bool flow_count_store_add_edge(struct flow_count_store *s, uint32_t from, uint64_t to, uint64_t nr);
/** Add all of @p from to @p to. @return false: out of memory. */
bool flow_count_store_merge(struct flow_count_store *to, const struct flow_count_store *from);

/** As flow_edges(). */
bool flow_count_store_edges(const struct flow_count_store *s,
			    bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx);

/** The two exits of @p b; of an indirect branch those taken without a target: those that are
 * left of @p nr when @p nr_known had one. */
bool flow_block_edges(const struct flow_block *b, const uint64_t nr[2], uint64_t nr_known,
		      bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx);

#endif
