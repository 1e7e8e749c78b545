/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_core.h"

void flow_free(struct flow *f)
{
	if (f)
		f->front->free(f);
}

enum clew_err flow_feed(struct flow *f, struct bytes in)
{
	return f->front->feed(f, in);
}

enum clew_err flow_restart(struct flow *f, uint64_t offset)
{
	return f->front->restart(f, offset);
}

enum clew_err flow_flush(struct flow *f)
{
	return f->front->flush(f);
}

enum clew_err flow_finish(struct flow *f)
{
	return f->front->finish(f);
}

void flow_set_bound(struct flow *f, uint64_t bound)
{
	f->front->set_bound(f, bound);
}

void flow_set_max_cache(struct flow *f, size_t bytes)
{
	f->front->set_max_cache(f, bytes);
}

const struct flow_totals *flow_totals(struct flow *f)
{
	return f->front->totals(f);
}

bool flow_edges(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e), void *ctx)
{
	return f->front->edges(f, edge, ctx);
}
