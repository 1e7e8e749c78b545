/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/vcpu_name.h"
#include "who/who_ran_impl.h"

/* Host or guest, of records that say their level. Spec: attribution.md, section 10.1. */

enum who_world who_world_of(const struct who_ran *w, const struct who_question *q, const char *comm)
{
	uint32_t vcpu;

	if (q->world == WHO_WORLD_UNKNOWN)
		return !comm || who_vcpu_of_name(comm, &vcpu) ? WHO_WORLD_UNKNOWN : WHO_WORLD_HOST;
	if (q->world != WHO_WORLD_OF_SPE)
		return q->world;
	if (w->facts.kernel_level != WHO_EL2)
		return WHO_WORLD_HOST;
	/* The host's kernel never runs at EL1, and leaves EL1's packets off. A branch from a guest
	 * to EL2 has the packet of its source. */
	if (q->level == WHO_EL1 || (q->level == WHO_EL0 && q->has & WHO_Q_CONTEXT_EL1))
		return WHO_WORLD_GUEST;
	if (q->level != WHO_EL0 || !w->notes || !map_u64_get(&w->notes->leaks, q->cpu))
		return WHO_WORLD_HOST;
	/* Guests are sampled here without contexts: user code is the guest's or the host's. */
	return !comm || who_vcpu_of_name(comm, &vcpu) ? WHO_WORLD_UNKNOWN : WHO_WORLD_HOST;
}
