/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_ANY_H
#define TESTS_MAKE_ETM_ANY_H

#include "make/etm_encode.h"

/*
 * Random packets, one after the other: any kind that a unit has, any field, with no sense in their
 * order. For what has to hold for every stream. The same seed gives the same bytes.
 */
struct etm_any {
	const struct etm_config *config;
	uint64_t random;
};

/** One packet more. */
void etm_any_packet(struct etm_any *a, struct buf *out);

/** Async, trace info, then @p nr packets with, now and then, another sync or (@p has_garbage) a few
 * bytes of anything. */
void etm_any_stream(struct etm_any *a, struct buf *out, size_t nr, bool has_garbage);

enum { NR_ETM_ANY_CONFIGS = 32 };
/** Configurations of all versions, with and without Q, commits in cycle counts, contexts. */
struct etm_config etm_any_config(unsigned int i);

#endif
