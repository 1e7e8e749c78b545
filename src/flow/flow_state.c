/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_state.h"

bool flow_state_save(struct flow_state *s, const struct flow *f)
{
	s->front = f->front;
	if (!s->own)
		s->own = mem_zalloc(f->front->state_bytes);
	if (!s->own || !f->front->save(s->own, f))
		return false;
#define X(name) memcpy(&s->name, &f->name, sizeof(s->name));
	FLOW_STATE_FIELDS(X)
#undef X
	return true;
}

bool flow_state_restore(const struct flow_state *s, struct flow *f)
{
	if (!f->front->restore(s->own, f))
		return false;
#define X(name) memcpy(&f->name, &s->name, sizeof(s->name));
	FLOW_STATE_FIELDS(X)
#undef X
	f->err = CLEW_OK;
	return true;
}

void flow_state_done(struct flow_state *s)
{
	if (s->own)
		s->front->state_done(s->own);
	mem_free(s->own);
	s->own = NULL;
}
