/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_ONE_H
#define FLOW_FLOW_ONE_H

#include "flow/flow_core.h"

/* A flow of one thread, all of it; of several, each thread's. As the functions of flow.h, which are
 * these or those of flow_parallel.h. */

/** @p opts: max_cache_bytes is set. @return NULL: out of memory. */
struct flow *flow_one_new(const struct flow_front *front, const struct flow_opts *opts,
			  const void *own);
void flow_one_free(struct flow *f);
enum clew_err flow_one_feed(struct flow *f, struct bytes in);
enum clew_err flow_one_restart(struct flow *f, uint64_t offset);
enum clew_err flow_one_finish(struct flow *f);
void flow_one_set_bound(struct flow *f, struct clew_perf_ns bound);

#endif
