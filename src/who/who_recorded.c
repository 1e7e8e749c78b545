/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran.h"

/* Tasks of a /proc of the initial namespace: local 0 is outside. */
static bool take_tasks(struct who_ran *w, const struct perf_who_facts *f)
{
	vec_for_each (&f->tasks, t)
		if (!who_ran_add_pair(w, (struct who_root_id){t->procfs},
				      who_local_id_of(t->local)))
			return false;
	return true;
}

bool who_ran_take_facts(struct who_ran *w, const struct perf_who_facts *f)
{
	bool is_root = f->recorder == PERF_WHO_NAMESPACE_INITIAL, ok = true;

	if (!f->has_recorder)
		return true;
	if (f->recorder != PERF_WHO_NAMESPACE_UNKNOWN)
		who_ran_set_root(w, is_root);
	/* Where they differ, what was made of /proc still has local ids, or is omitted. */
	if (f->ids != PERF_WHO_PROCFS_UNKNOWN)
		who_ran_set_same_proc(w, true);
	if (!is_root && f->proc == PERF_WHO_NAMESPACE_INITIAL)
		ok = take_tasks(w, f);
	return ok;
}

static struct who_proof recorded(bool is_known, bool is)
{
	if (!is_known)
		return (struct who_proof){.is = WHO_FACT_UNKNOWN};
	return (struct who_proof){.is = is ? WHO_FACT_YES : WHO_FACT_NO,
				  .why = "the recording says it"};
}

void who_facts_of_recorded(const struct perf_who_facts *f, struct who_facts *ret)
{
	*ret = (struct who_facts){.kernel_level = WHO_LEVEL_UNKNOWN};
	if (!f->has_recorder)
		return;
	ret->is_root = recorded(f->recorder != PERF_WHO_NAMESPACE_UNKNOWN,
				f->recorder == PERF_WHO_NAMESPACE_INITIAL);
	ret->is_same_proc = recorded(f->ids != PERF_WHO_PROCFS_UNKNOWN, true);
}
