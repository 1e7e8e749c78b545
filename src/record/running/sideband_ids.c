/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/sideband.h"

static enum perf_who_namespace fact_of(enum os_pid_ns ns)
{
	switch (ns) {
	case OS_PID_NS_INITIAL:
		return PERF_WHO_NAMESPACE_INITIAL;
	case OS_PID_NS_OTHER:
		return PERF_WHO_NAMESPACE_OTHER;
	case OS_PID_NS_UNKNOWN:
		break;
	}
	return PERF_WHO_NAMESPACE_UNKNOWN;
}

static enum perf_who_procfs procfs_of(const struct os_pid_view *v)
{
	if (v->is_own)
		return PERF_WHO_PROCFS_SAME;
	return v->depth ? PERF_WHO_PROCFS_TRANSLATED : PERF_WHO_PROCFS_OMITTED;
}

static void put_enabled(struct rec_sideband *s, const struct rec_counters *c)
{
	s->facts.enabled.nr = 0;
	vec_for_each (&c->rings, r) {
		const struct perf_who_enabled e = {(uint32_t)r->cpu, c->tracked_from_ns};

		if (c->tracked_from_ns && r->cpu >= 0 && !r->is_backward &&
		    !vec_push(&s->facts.enabled, e))
			s->err = CLEW_NO_MEMORY;
	}
	perf_put_who_enabled(&s->out, s->facts.enabled.data, s->facts.enabled.nr);
}

void rec_sideband_recorder(struct rec_sideband *s, const struct rec_counters *c)
{
	const struct perf_who_facts f = {
		.recorder = fact_of(s->view.own),
		.proc = fact_of(s->view.procs),
		.ids = procfs_of(&s->view),
		.pid_ns = s->view.inode,
		.recorder_local = s->view.local,
		.recorder_procfs = s->view.procfs,
	};

	perf_put_who_recorder(&s->out, &f);
	put_enabled(s, c);
}

void rec_sideband_ids(struct rec_sideband *s)
{
	if (s->facts.tasks.nr || !s->view.is_own)
		perf_put_who_tasks(&s->out, &s->facts);
}

bool rec_sideband_count_process(struct rec_sideband *s, uint32_t local)
{
	if (!local)
		s->facts.nr_omitted++;
	else if (!s->view.is_own)
		s->facts.nr_translated++;
	return local;
}

void rec_sideband_note_ids(struct rec_sideband *s, uint32_t procfs, uint32_t local,
			   const struct os_ns_ids *ids)
{
	if (s->view.is_own && ids->nr < 2)
		return;
	if (!vec_push(&s->facts.tasks,
		      ((struct perf_who_task){.procfs = procfs,
					      .local = local,
					      .inner = ids->nr ? ids->id[ids->nr - 1] : local,
					      .depth = ids->nr,
					      .pid_ns = ids->nr > 1 ? os_pid_ns_inode(procfs)
								    : s->view.inode})))
		s->err = CLEW_NO_MEMORY;
}
