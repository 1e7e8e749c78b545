/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/own_ids.h"

#include "os/caps.h"
#include "os/pid_view.h"
#include "record/plan/aux_pmu.h"

/* Spec: Linux drivers/perf/arm_spe_pmu.c, "arm_spe_event_to_pmscr": no test of the namespace;
 * drivers/hwtracing/coresight/coresight-etm4x-core.c, "etm4_parse_event_config": contexts only in
 * the initial one. */
const char *rec_contexts_inside(const char *pmu, bool may_profile_kernel)
{
	const struct aux_pmu *aux = aux_pmu_find(pmu);

	if (!aux)
		return NULL;
	if (aux->info == PERF_AUXTRACE_ARM_SPE && may_profile_kernel)
		return "the contexts that Arm SPE records here are thread ids of the initial PID "
		       "namespace, while all other ids are of this one: clew keeps them apart, other "
		       "programs may take one for the other";
	if (aux->info == PERF_AUXTRACE_CS_ETM)
		return "outside the initial PID namespace the kernel leaves contexts out of "
		       "CoreSight traces and reports nothing: threads are found by context switches "
		       "alone";
	return NULL;
}

/* Of those that are recorded at all. */
static bool is_first_of_kind(const struct rec_event_list *l, size_t at)
{
	const struct aux_pmu *kind = aux_pmu_find(l->events.data[at].pmu);

	for (size_t i = 0; i < at; i++)
		if (aux_pmu_find(l->events.data[i].pmu) == kind)
			return false;
	return kind && kind->is_described;
}

static void warn_inside(const struct rec_event_list *events, const struct rec_ui *ui)
{
	struct os_caps caps;

	os_caps_read(&caps);
	for (size_t i = 0; i < events->events.nr; i++) {
		const char *text = rec_contexts_inside(events->events.data[i].pmu,
						       os_caps_can_profile_kernel(&caps));

		if (text && is_first_of_kind(events, i))
			rec_say(ui, REC_WARNING, "%s", text);
	}
}

/* Each of its stops is a switch, and its streams are of one thread anyway. */
static bool has_soft(const struct rec_event_list *events)
{
	vec_for_each (&events->events, e)
		if (e->aux && e->aux->is_soft)
			return true;
	return false;
}

void rec_settle_ids(struct rec_options *o, struct rec_event_list *events,
		    const struct rec_target *t, const struct rec_ui *ui)
{
	struct os_pid_view view;
	bool has_trace = rec_events_have_trace(events) && !has_soft(events);

	os_pid_view_read(&view);
	/* In a container, switches are what distinguishes an idle CPU from tasks outside. */
	if (o->with_switches == REC_DEFAULT &&
	    (has_trace || (view.own == OS_PID_NS_OTHER && t->is_system_wide)))
		o->with_switches = REC_YES;
	if (has_trace && !o->is_per_thread)
		o->with_cpu = true; /* rings of one CPU hold what several of its tasks do */
	if (t->cpus.data[0] < 0)    /* the ring says which thread it is of */
		vec_for_each (&events->events, e)
			e->attr.config &= ~e->per_cpu_config;
	if (view.own == OS_PID_NS_OTHER)
		warn_inside(events, ui);
}
