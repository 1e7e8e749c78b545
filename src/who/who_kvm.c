/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_kvm.h"

static bool add(struct who_kvm *k, enum who_run_kind kind, struct clew_perf_ns from)
{
	k->has_begun = true;
	return who_runs_add(&k->runs,
			    &(struct who_run){.kind = kind, .id = k->state, .from = from});
}

bool who_kvm_take(struct who_kvm *k, struct clew_perf_ns time, struct who_local_id id)
{
	/* Two entries, or two exits: a sample between them is missing. */
	bool alternates = k->has_state && !k->state.n != !id.n;
	bool ok = !k->has_state || add(k, alternates ? WHO_RUN_THREAD : WHO_RUN_HOLE, k->since);

	k->has_state = true;
	k->state = id;
	k->since = time;
	return ok;
}

bool who_kvm_break(struct who_kvm *k, struct clew_perf_ns from)
{
	bool ok = !k->has_state || add(k, WHO_RUN_THREAD, k->since);

	k->has_state = false;
	return ok && (!k->has_begun || add(k, WHO_RUN_HOLE, from));
}

bool who_kvm_end(struct who_kvm *k)
{
	bool ok = !k->has_state || add(k, WHO_RUN_NONE, k->since);

	k->has_state = false;
	return ok && who_runs_end(&k->runs);
}

void who_kvm_done(struct who_kvm *k)
{
	who_runs_done(&k->runs);
}
