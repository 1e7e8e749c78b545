/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_PARALLEL_H
#define FLOW_FLOW_PARALLEL_H

#include "flow/flow_core.h"

/*
 * One trace source decoded by several threads: what a flow does with opts.nr_threads. The
 * input is cut at synchronisations. Each thread decodes a part as if what came before had been
 * decoded, but without knowing it; where a part needed to know, or what came before ended in
 * another way than was assumed, it is decoded again, from there on. Items and events are those of
 * one thread.
 */
struct flow_parallel;

/** NULL: out of memory. Where no thread can be had, the caller's does its part. @p opts: nr_threads
 * > 1; @p own: as flow_new(). */
struct flow_parallel *flow_parallel_new(const struct flow_front *front,
					const struct flow_opts *opts, const void *own);
void flow_parallel_free(struct flow_parallel *p);

/* As the functions of flow.h. */
enum clew_err flow_parallel_feed(struct flow_parallel *p, struct bytes in);
enum clew_err flow_parallel_restart(struct flow_parallel *p, uint64_t offset);
enum clew_err flow_parallel_finish(struct flow_parallel *p);
void flow_parallel_set_bound(struct flow_parallel *p, struct clew_perf_ns bound);
void flow_parallel_set_max_cache(struct flow_parallel *p, size_t bytes);
const struct flow_totals *flow_parallel_totals(struct flow_parallel *p);
bool flow_parallel_edges(struct flow_parallel *p,
			 bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx);

#endif
