/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_key.h"

bool flow_key_take_event(struct code_key *k, const struct flow_event *e)
{
	switch (e->kind) {
	case FLOW_EV_CONTEXT:
		/* At EL0 without a higher level: it is the first context after a gap. */
		k->may_have_switched |= code_context_el(&e->context) ||
					(code_context_el(&k->context) && e->context.arm.upper_el);
		k->context = e->context;
		return true;
	case FLOW_EV_TIMESTAMP:
		if (!e->ticks.ticks)
			return false;
		k->ticks = e->ticks;
		k->may_have_switched = false;
		return true;
	case FLOW_EV_BOUND:
		k->bound = e->bound;
		k->nr_switches = 0;
		return true;
	case FLOW_EV_SWITCH:
		k->nr_switches = e->number;
		return true;
	case FLOW_EV_NO_SYNC:
	case FLOW_EV_TRACE_ON:
		k->may_have_switched = true;
		return false;
	default:
		return false;
	}
}
