/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ask_impl.h"

/* Host or guest, of records that say their level. Spec: attribution.md, sections 10.1 to 10.3. */

enum who_world who_world_of(const struct who_ran *w, const struct who_question *q, bool may_be_vcpu)
{
	if (q->world == WHO_WORLD_UNKNOWN)
		return may_be_vcpu ? WHO_WORLD_UNKNOWN : WHO_WORLD_HOST;
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
	return may_be_vcpu ? WHO_WORLD_UNKNOWN : WHO_WORLD_HOST;
}

/** Is all of @p p inside of the run? The tick of a sample is neither before nor after it. */
static bool is_inside(const struct who_ran *w, const struct who_run_cursor *c,
		      const struct who_place *p)
{
	if (c->run.kind != WHO_RUN_THREAD || !c->has_next || p->until.ns >= c->next.from.ns)
		return false;
	if (!p->has_order)
		return p->time.ns > c->run.from.ns;
	return p->first > who_order_of_ns(w, c->run.from) &&
	       p->order < who_order_of_ns(w, c->next.from);
}

void who_find_kvm(const struct who_ran *w, const struct who_place *p, struct who_by_kvm *ret)
{
	struct who_run_cursor c;

	*ret = (struct who_by_kvm){.until = clew_perf_ns_none()};
	if (!p->cpu || !w->nr_kvm_cpus || !clew_perf_ns_is_known(p->time))
		return;
	ret->until.ns = p->time.ns + 1;
	if (p->is_conflict || !clew_perf_ns_is_known(p->until) ||
	    !who_runs_find(&p->cpu->kvm.runs, p->time, &c) || !is_inside(w, &c, p))
		return;
	*ret = (struct who_by_kvm){true, c.run.id.n, c.run.id, c.next.from};
}

enum who_world who_world_by_kvm(const struct who_by_kvm *k, enum who_level level)
{
	if (!k->is_known)
		return WHO_WORLD_UNKNOWN;
	if (!k->is_between)
		return WHO_WORLD_HOST;
	/* The host's kernel runs before and after the guest between both samples. */
	return level == WHO_EL0 ? WHO_WORLD_GUEST : WHO_WORLD_UNKNOWN;
}
