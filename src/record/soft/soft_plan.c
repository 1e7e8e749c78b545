/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/plan/soft_pmu.h"

enum { PSB_UNIT_SHIFT = 11, BP_EXECUTE = 4 };

static bool take_call(const char *name, struct soft_trigger *ret)
{
	bool is_exit = !strncmp(name, "sys_exit", 8);
	const char *at = name + (is_exit ? 8 : 9);

	if (!is_exit && strncmp(name, "sys_enter", 9) != 0)
		return false;
	ret->place = is_exit ? SOFT_AT_CALL_EXIT : SOFT_AT_CALL_ENTRY;
	ret->number = SOFT_ANY_CALL;
	return !*at || (*at == '_' && soft_call_number(at + 1, &ret->number));
}

/* --filter 'sig == 10' */
static bool take_signal(const struct rec_event *e, struct soft_trigger *ret)
{
	unsigned int number = 0;
	char rest;

	if (e->filter && (sscanf(e->filter, " sig == %u %c", &number, &rest) != 1 || number > 64))
		return false;
	ret->place = SOFT_AT_SIGNAL;
	ret->number = number;
	return true;
}

static bool take_tracepoint(const struct rec_event *e, struct soft_trigger *ret)
{
	if (!strcmp(e->tp_system, "signal") && !strcmp(e->tp_name, "signal_deliver"))
		return take_signal(e, ret);
	if (strcmp(e->tp_system, "syscalls") != 0 && strcmp(e->tp_system, "raw_syscalls") != 0)
		return false;
	return !e->filter && take_call(e->tp_name, ret);
}

static bool take_trigger(const struct rec_event *e, struct soft_trigger *ret)
{
	*ret = (struct soft_trigger){.is_resume = (e->attr.aux_action & PERF_AUX_RESUME) != 0};
	if (e->is_tracepoint)
		return take_tracepoint(e, ret);
	if (e->attr.type == PERF_TYPE_BREAKPOINT && e->attr.bp_type == BP_EXECUTE) {
		ret->place = SOFT_AT_ADDRESS;
		ret->number = e->attr.config1;
		return true;
	}
	ret->place = SOFT_AT_FILE;
	ret->number = e->attr.config2;
	ret->path = e->probe_path;
	return e->probe_path && !(e->attr.config & 1);
}

static enum clew_err refuse(const struct rec_event *e, struct rec_error *error)
{
	return rec_fail(
		error, CLEW_UNSUPPORTED,
		"'%s' cannot act on soft_pt, which sees system calls (syscalls:sys_enter_NAME, "
		"sys_exit_NAME, without a filter), signals (signal:signal_deliver, --filter 'sig == "
		"N'), and addresses (uprobe:FILE:SYMBOL, mem:ADDRESS:x)",
		e->name);
}

enum clew_err soft_plan_make(struct soft_plan *ret, const struct rec_event_list *events,
			     uint32_t trace, const struct rec_options *o, struct rec_error *error)
{
	const struct perf_attr *a = &events->events.data[trace].attr;
	uint64_t period = (a->config & SOFT_PMU_PSB_PERIOD) >> SOFT_PMU_PSB_SHIFT;

	*ret = (struct soft_plan){.starts_paused = o->trace_function ||
						   a->aux_action & PERF_AUX_START_PAUSED,
				  .psb_bytes = UINT32_C(1) << (PSB_UNIT_SHIFT + period),
				  .clockid = o->clockid,
				  .max_calls = o->max_calls};
	for (size_t i = 0; i < events->events.nr; i++) {
		const struct rec_event *e = &events->events.data[i];
		struct soft_trigger g;

		if (i == trace || e->leader != trace ||
		    !(e->attr.aux_action & (PERF_AUX_RESUME | PERF_AUX_PAUSE)))
			continue;
		if (!take_trigger(e, &g))
			return refuse(e, error);
		g.event = (uint32_t)i;
		ret->needs_calls |= g.place == SOFT_AT_CALL_ENTRY || g.place == SOFT_AT_CALL_EXIT;
		if (!vec_push(&ret->triggers, g))
			return rec_fail_memory(error);
	}
	return CLEW_OK;
}

void soft_plan_done(struct soft_plan *p)
{
	vec_done(&p->triggers);
}
