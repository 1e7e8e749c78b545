/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_state.h"

bool etm_state_save(void *state, const struct flow *flow)
{
	const struct etm_flow *f = (const struct etm_flow *)flow;
	struct etm_state *s = state;
	size_t nr = f->queue.nr - f->head;

	if (!vec_reserve(&s->queue, nr))
		return false;
	if (nr)
		memcpy(s->queue.data, f->queue.data + f->head, nr * sizeof(*s->queue.data));
	s->queue.nr = nr;
#define X(name) memcpy(&s->name, &f->name, sizeof(s->name));
	ETM_STATE_FIELDS(X)
#undef X
	return true;
}

bool etm_state_restore(const void *state, struct flow *flow)
{
	struct etm_flow *f = etm_flow_of(flow);
	const struct etm_state *s = state;

	if (!vec_reserve(&f->queue, s->queue.nr))
		return false;
	if (s->queue.nr)
		memcpy(f->queue.data, s->queue.data, s->queue.nr * sizeof(*s->queue.data));
	f->head = 0;
	f->queue.nr = s->queue.nr;
#define X(name) memcpy(&f->name, &s->name, sizeof(s->name));
	ETM_STATE_FIELDS(X)
#undef X
	return true;
}

void etm_state_done(void *state)
{
	vec_done(&((struct etm_state *)state)->queue);
}
