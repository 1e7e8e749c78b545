/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_state.h"

bool etm_state_save(struct etm_state *s, const struct etm_flow *f)
{
	size_t nr = f->queue.nr - f->head;

	if (!vec_reserve(&s->queue, nr))
		return false;
	if (nr)
		memcpy(s->queue.data, f->queue.data + f->head, nr * sizeof(*s->queue.data));
	s->queue.nr = nr;
	flow_state_save(&s->flow, &f->flow);
#define X(name) memcpy(&s->name, &f->name, sizeof(s->name));
	ETM_STATE_FIELDS(X)
#undef X
	return true;
}

bool etm_state_restore(const struct etm_state *s, struct etm_flow *f)
{
	if (!vec_reserve(&f->queue, s->queue.nr))
		return false;
	if (s->queue.nr)
		memcpy(f->queue.data, s->queue.data, s->queue.nr * sizeof(*s->queue.data));
	f->head = 0;
	f->queue.nr = s->queue.nr;
	flow_state_restore(&s->flow, &f->flow);
#define X(name) memcpy(&f->name, &s->name, sizeof(s->name));
	ETM_STATE_FIELDS(X)
#undef X
	return true;
}

void etm_state_done(struct etm_state *s)
{
	vec_done(&s->queue);
}
