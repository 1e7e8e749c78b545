/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/event/event_spell.h"

/* Does it act on the trace of its group's leader? */
static bool needs_aux_leader(const struct rec_event *e)
{
	return !e->aux && (e->attr.aux_action & (PERF_AUX_PAUSE | PERF_AUX_RESUME) ||
			   e->attr.aux_sample_size || e->attr.flags & PERF_ATTR_AUX_OUTPUT);
}

/* As perf does: such an event and all before it, back to the last trace, are that trace's group. */
void event_group_with_aux(struct rec_event_list *list)
{
	struct rec_event *e = list->events.data;
	size_t nr = list->events.nr, aux = nr;

	for (size_t i = 0; i < nr; i++) {
		uint32_t own = e[i].leader;

		if (e[i].aux)
			aux = i;
		if (aux == nr || !needs_aux_leader(&e[i]) || own == aux)
			continue;
		for (size_t k = aux; k < nr && (k <= i || e[k].leader == own); k++)
			e[k].leader = (uint32_t)aux;
	}
}
