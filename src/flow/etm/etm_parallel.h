/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_PARALLEL_H
#define FLOW_ETM_ETM_PARALLEL_H

#include "flow/etm/etm_flow.h"

/*
 * One trace source decoded by several threads: what etm_flow does with opts.flow.nr_threads. The
 * input is cut at synchronisations. Each thread decodes a part as if what came before had been
 * decoded, but without knowing it; where a part needed to know, or what came before ended in
 * another way than was assumed, it is decoded again, from there on. Items and events are those of
 * one thread.
 */
struct etm_parallel;

/** NULL: out of memory. Where no thread can be had, the caller's does its part. @p opts: nr_threads
 * > 1. */
struct etm_parallel *etm_parallel_new(const struct etm_flow_opts *opts);
void etm_parallel_free(struct etm_parallel *p);

/* As the functions of etm_flow. */
enum clew_err etm_parallel_feed(struct etm_parallel *p, struct bytes in);
enum clew_err etm_parallel_restart(struct etm_parallel *p, uint64_t offset);
enum clew_err etm_parallel_finish(struct etm_parallel *p);
void etm_parallel_set_bound(struct etm_parallel *p, uint64_t bound);
void etm_parallel_set_max_cache(struct etm_parallel *p, size_t bytes);
const struct flow_totals *etm_parallel_totals(struct etm_parallel *p);
bool etm_parallel_edges(struct etm_parallel *p, bool (*edge)(void *ctx, const struct flow_edge *e),
			void *ctx);

#endif
