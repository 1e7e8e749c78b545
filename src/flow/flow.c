/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_one.h"
#include "flow/flow_parallel.h"

enum { DEFAULT_CACHE_BYTES = 32 << 20 };

enum clew_err flow_feed(struct flow *f, struct bytes in)
{
	return f->parallel ? flow_parallel_feed(f->parallel, in) : flow_one_feed(f, in);
}

enum clew_err flow_restart(struct flow *f, uint64_t offset)
{
	return f->parallel ? flow_parallel_restart(f->parallel, offset)
			   : flow_one_restart(f, offset);
}

enum clew_err flow_flush(struct flow *f)
{
	if (!f->parallel)
		flow_deliver(f);
	return f->err;
}

enum clew_err flow_finish(struct flow *f)
{
	return f->parallel ? flow_parallel_finish(f->parallel) : flow_one_finish(f);
}

void flow_set_bound(struct flow *f, struct clew_perf_ns bound)
{
	if (f->parallel)
		flow_parallel_set_bound(f->parallel, bound);
	else
		flow_one_set_bound(f, bound);
}

void flow_set_max_cache(struct flow *f, size_t bytes)
{
	f->opts.max_cache_bytes = bytes;
	if (f->parallel)
		flow_parallel_set_max_cache(f->parallel, bytes);
}

const struct flow_totals *flow_totals(struct flow *f)
{
	return f->parallel ? flow_parallel_totals(f->parallel) : flow_counts_totals(f);
}

bool flow_edges(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx)
{
	return f->parallel ? flow_parallel_edges(f->parallel, edge, ctx)
			   : flow_counts_edges(f, edge, ctx);
}

static struct flow *new_parallel(const struct flow_front *front, const struct flow_opts *opts,
				 const void *own)
{
	struct flow *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->opts = *opts;
	f->parallel = flow_parallel_new(front, opts, own);
	if (f->parallel)
		return f;
	mem_free(f);
	return NULL;
}

struct flow *flow_new(const struct flow_front *front, const struct flow_opts *opts, const void *own)
{
	struct flow_opts o = *opts;

	if (!o.max_cache_bytes)
		o.max_cache_bytes = DEFAULT_CACHE_BYTES;
	return o.nr_threads > 1 ? new_parallel(front, &o, own) : flow_one_new(front, &o, own);
}

void flow_free(struct flow *f)
{
	if (!f || !f->parallel) {
		flow_one_free(f);
		return;
	}
	flow_parallel_free(f->parallel);
	mem_free(f);
}
