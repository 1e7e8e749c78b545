/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_state.h"

void flow_state_save(struct flow_state *s, const struct flow *f)
{
#define X(name) memcpy(&s->name, &f->name, sizeof(s->name));
	FLOW_STATE_FIELDS(X)
#undef X
}

void flow_state_restore(const struct flow_state *s, struct flow *f)
{
#define X(name) memcpy(&f->name, &s->name, sizeof(s->name));
	FLOW_STATE_FIELDS(X)
#undef X
	f->err = CLEW_OK;
}
