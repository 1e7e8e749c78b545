/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/open_events.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/pid_view.h"
#include "record/aux/aux_source.h"
#include "record/open/aux_rules.h"
#include "record/open/own_ids.h"
#include "record/session/ring_source.h"
#include "record/soft/soft_source.h"
#include "record/stacks/stack_choice.h"
#include "record/stacks/user_stacks.h"

/* The id that tracepoints know us by: of the initial PID namespace. 0: unknown. */
static uint32_t own_root_id(void)
{
	struct os_pid_view view;

	os_pid_view_read(&view);
	if (view.own == OS_PID_NS_OTHER)
		return view.procs == OS_PID_NS_INITIAL ? view.procfs : 0;
	return view.local;
}

/* --exclude-perf: tracepoints pass over what we do ourselves. */
static enum clew_err exclude_self(struct rec_event_list *events, struct rec_error *error)
{
	uint32_t self = own_root_id();

	if (!self)
		return rec_fail(
			error, CLEW_UNSUPPORTED,
			"--exclude-perf: filters know tasks by their ids in the initial PID "
			"namespace, and ours is unknown in this container");
	vec_for_each (&events->events, e) {
		char text[4096];
		int n;

		if (!e->is_tracepoint)
			return rec_fail(error, CLEW_INVALID,
					"--exclude-perf is for tracepoints, but '%s' is not one",
					e->name);
		if (e->filter)
			n = snprintf(text, sizeof(text), "(%s) && common_pid != %u", e->filter,
				     self);
		else
			n = snprintf(text, sizeof(text), "common_pid != %u", self);
		e->filter = arena_strndup(&events->memory, text, strlen(text));
		if (!e->filter || (size_t)n >= sizeof(text))
			return rec_fail_memory(error);
	}
	return CLEW_OK;
}

/* Address filters are not what the user spelled. */
static void say_filters(const struct rec_opening *o)
{
	vec_for_each (&o->events->events, e) {
		if (e->filter_note)
			rec_say(o->ui, REC_NOTE, "%s", e->filter_note);
		if (o->asked->is_verbose && (e->filters_user || e->filters_kernel))
			rec_say(o->ui, REC_NOTE, "%s: filter '%s'", e->name, e->filter);
	}
}

static bool has_soft_trace(const struct rec_event_list *events)
{
	vec_for_each (&events->events, e)
		if (e->aux && e->aux->is_soft)
			return true;
	return false;
}

/* What the plan asks of the rest: BPF has no clock of perf's own, nor have we. */
static void settle(const struct rec_opening *o, const struct rec_stack_plan *plan)
{
	o->settled->stacks = *plan;
	o->settled->has_clockid = o->asked->has_clockid;
	if ((rec_stacks_is_bpf(plan->kind) || has_soft_trace(o->events)) &&
	    !o->asked->has_clockid) {
		o->settled->has_clockid = true;
		o->settled->clockid = CLOCK_MONOTONIC;
	}
}

static enum clew_err open_counters(const struct rec_opening *o, struct rec_error *error)
{
	struct rec_counters *c = o->counters;
	enum clew_err err = rec_counters_build(c, o->events, o->settled, o->target, error);

	if (err == CLEW_OK)
		err = rec_counters_open(c, o->ui, error);
	if (err == CLEW_OK)
		err = rec_counters_map(c, o->settled, error);
	return err;
}

/* @return whether the next way of user stacks is to be tried. */
static bool is_refused(const struct rec_opening *o, struct rec_stack_choice *choice,
		       enum rec_stacks kind, enum clew_err err, const struct rec_error *error)
{
	if (err == CLEW_OK || err == CLEW_NO_MEMORY || !rec_stacks_is_bpf(kind) ||
	    o->asked->stacks.kind != REC_STACKS_AUTO)
		return false;
	rec_say(o->ui, REC_NOTE, "user stacks: not %s: %s", rec_stacks_name(kind), error->text);
	choice->refused |= 1u << kind;
	return true;
}

static enum clew_err open_stacks(const struct rec_opening *o, struct rec_source *ret,
				 struct rec_error *error)
{
	struct rec_stack_choice choice = {
		.options = o->asked, .events = o->events, .target = o->target, .ui = o->ui};

	vec_for_each (&o->events->events, e) /* BPF would need a clock that the trace has not */
		if (rec_aux_has_own_clock(e) && o->asked->stacks.kind == REC_STACKS_AUTO)
			choice.refused |=
				1u << REC_STACKS_BPF_DEFERRED | 1u << REC_STACKS_BPF_IMMEDIATE;
	for (;;) {
		struct rec_stack_plan plan;
		enum clew_err err = rec_stacks_choose(&choice, &plan, error);

		if (err != CLEW_OK)
			return err;
		settle(o, &plan);
		err = open_counters(o, error);
		if (err != CLEW_OK) {
			rec_stack_choice_done(&choice);
			return err;
		}
		err = user_stacks_open(ret, o->counters, o->settled, &choice, error);
		if (!is_refused(o, &choice, plan.kind, err, error))
			return err;
		rec_counters_done(o->counters);
		*o->counters = (struct rec_counters){0};
	}
}

static enum clew_err open_rings(const struct rec_opening *o, struct rec_source *ret,
				struct rec_error *error)
{
	*ret = ring_source_new(o->counters, rec_sources_own_rings(o->sources));
	return ret->ops ? CLEW_OK : rec_fail_memory(error);
}

static enum clew_err open_aux(const struct rec_opening *o, struct rec_source *ret,
			      struct rec_error *error)
{
	return aux_source_open(ret, o->counters, o->settled, o->ui,
			       !rec_sources_own_rings(o->sources), error);
}

static enum clew_err open_soft(const struct rec_opening *o, struct rec_source *ret,
			       struct rec_error *error)
{
	return soft_source_open(ret, o->counters, o->settled, o->ui, error);
}

/* In the order of their passes. Opening the stacks opens the counters, too; a source that has
 * nothing to do leaves ops NULL. */
static enum clew_err (*const openers[])(const struct rec_opening *o, struct rec_source *ret,
					struct rec_error *error) = {
	open_stacks,
	open_rings,
	open_aux,
	open_soft,
};

enum clew_err rec_open_events(const struct rec_opening *o, struct rec_error *error)
{
	enum clew_err err = o->asked->is_exclude_self ? exclude_self(o->events, error) : CLEW_OK;

	if (err == CLEW_OK)
		rec_settle_ids(o->settled, o->events, o->target, o->ui);
	say_filters(o);

	for (size_t i = 0; i < sizeof(openers) / sizeof(*openers) && err == CLEW_OK; i++) {
		struct rec_source s = {0};

		err = openers[i](o, &s, error);
		if (err == CLEW_OK && !rec_sources_add(o->sources, s))
			err = rec_fail_memory(error);
	}
	if (err == CLEW_OK)
		rec_counters_mark(o->counters);
	return err;
}
