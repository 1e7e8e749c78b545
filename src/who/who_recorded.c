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
