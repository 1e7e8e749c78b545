/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_code.h"

enum { NO_SPACE = UINT32_MAX };

void flow_code_init(struct flow_code *c, const struct code_source *source,
		    const struct flow_insns *insns, bool has_wfx)
{
	*c = (struct flow_code){
		.source = source, .insns = insns, .has_wfx = has_wfx, .region_space = NO_SPACE};
}

void flow_code_forget(struct flow_code *c)
{
	c->region_space = NO_SPACE;
}

size_t flow_code_at(struct flow_code *c, uint32_t space, uint64_t addr, const uint8_t **ret)
{
	struct code_region *r = &c->region;

	if (c->region_space != space || addr < r->start || addr >= r->end) {
		if (!c->source->find(c->source->ctx, space, addr, r) || addr < r->start ||
		    addr >= r->end) {
			c->region_space = NO_SPACE;
			return 0;
		}
		c->region_space = space;
	}
	*ret = r->bytes + (addr - r->start);
	return (size_t)(r->end - addr);
}
