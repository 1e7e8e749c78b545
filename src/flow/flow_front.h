/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_FRONT_H
#define FLOW_FLOW_FRONT_H

#include "flow/flow.h"

/** What a front end does for its flows; functions as those of flow.h. */
struct flow_front {
	enum clew_err (*feed)(struct flow *f, struct bytes in);
	enum clew_err (*restart)(struct flow *f, uint64_t offset);
	enum clew_err (*flush)(struct flow *f);
	enum clew_err (*finish)(struct flow *f);
	void (*set_bound)(struct flow *f, uint64_t bound);
	void (*set_max_cache)(struct flow *f, size_t bytes);
	const struct flow_totals *(*totals)(struct flow *f);
	bool (*edges)(struct flow *f, bool (*edge)(void *ctx, const struct flow_edge *e),
		      void *ctx);
	void (*free)(struct flow *f);
};

/** The first member of a front end's own. */
struct flow {
	const struct flow_front *front;
};

#endif
