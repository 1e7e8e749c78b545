/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/aux_rules.h"

#include <stdarg.h>

#include "base/attributes.h"

enum { TRIGGER = PERF_AUX_PAUSE | PERF_AUX_RESUME };

static const char *action_of(const struct rec_counter *e)
{
	return e->attr.aux_action & PERF_AUX_PAUSE ? "pause" : "resume";
}

static const struct rec_counter *leader_of(const struct rec_counters *c,
					   const struct rec_counter *e)
{
	return &c->list.data[e->leader];
}

CLEW_PRINTF(4, 5)
static enum clew_err refuse(struct rec_error *error, const struct rec_counter *e,
			    const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rec_vfail(error, CLEW_INVALID, format, args);
	va_end(args);
	error->subject = e->name;
	if (remedy)
		rec_advise(error, "%s", remedy);
	return CLEW_INVALID;
}

static enum clew_err check_place(const struct rec_counters *c, const struct rec_counter *e,
				 struct rec_error *error)
{
	const struct perf_attr *a = &e->attr;

	if (a->aux_action & TRIGGER && e->aux)
		return refuse(error, e,
			      "-e 'TRACE/aux-action=start-paused/,EVENT/aux-action=resume/'",
			      "aux-action=%s is for an event that acts on the trace, not for the "
			      "trace itself, which can only start paused",
			      action_of(e));
	if (a->aux_action & PERF_AUX_START_PAUSED && !e->aux)
		return refuse(error, e,
			      "-e 'intel_pt/aux-action=start-paused/,EVENT/aux-action=resume/'",
			      "only a trace can start paused, and this event is none");
	if (a->aux_action & TRIGGER && !leader_of(c, e)->aux)
		return refuse(
			error, e, "name the trace first: -e intel_pt// -e EVENT/aux-action=pause/",
			"aux-action=%s acts on the nearest hardware trace before it, and there "
			"is none",
			action_of(e));
	if (a->aux_sample_size && e->aux)
		return refuse(
			error, e, "-e 'TRACE//,EVENT/aux-sample-size=4096/'",
			"aux-sample-size is for an event with samples, which carry the trace, "
			"not for the trace itself");
	if (a->aux_sample_size && !leader_of(c, e)->aux)
		return refuse(
			error, e,
			"name the trace first: -e intel_pt// -e EVENT/aux-sample-size=4096/",
			"aux-sample-size needs a group led by a trace, and there is no hardware trace before it");
	return CLEW_OK;
}

/* The kernel accepts what never acts: an event that only counts has no overflow. */
static enum clew_err check_trigger(const struct rec_counter *e, struct rec_error *error)
{
	const struct perf_attr *a = &e->attr;

	if (!(a->aux_action & TRIGGER))
		return CLEW_OK;
	if (!a->sample_period)
		return refuse(error, e, "omit -n, and :S of its group",
			      "it only counts, and so would never %s the trace", action_of(e));
	if (a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY)
		return refuse(error, e, "choose an event that happens, such as a tracepoint",
			      "a dummy never happens, and so would never %s the trace",
			      action_of(e));
	if (a->flags & (PERF_ATTR_PINNED | PERF_ATTR_EXCLUSIVE))
		return refuse(
			error, e, "omit D and e",
			"what acts on a trace follows the trace, and can be neither pinned (D) "
			"nor exclusive (e)");
	return CLEW_OK;
}

bool rec_aux_has_own_clock(const struct rec_event *e)
{
	return e->aux && !e->aux->is_soft &&
	       (e->aux->info == PERF_AUXTRACE_INTEL_PT || e->aux->info == PERF_AUXTRACE_CS_ETM);
}

static enum clew_err check_soft(const struct rec_counters *c, const struct rec_counter *e,
				const struct rec_options *o, struct rec_error *error)
{
	if (e->attr.flags & PERF_ATTR_EXCLUDE_USER)
		return refuse(error, e, "-e soft_pt//u",
			      "it steps programs in user mode, and cannot see the kernel");
	if (c->target && c->target->is_system_wide)
		return refuse(error, e, "give a command, -p or -t",
			      "it traces tasks, not whole CPUs (-a, -C)");
	if (o->snapshot.is_on)
		return refuse(error, e, "aux-action= and --trace-between choose what is traced",
			      "it keeps all of what it traces, and takes no snapshots (-S)");
	if (o->delay_ms)
		return refuse(error, e, "aux-action=start-paused, and an event that resumes it",
			      "it starts with the command, and not later (-D)");
	vec_for_each (&c->list, other)
		if (other != e && other->aux)
			return refuse(error, e, "record one of the two",
				      "'%s' is another trace, and a file has one kind of trace",
				      other->name);
	return CLEW_OK;
}

static enum clew_err check_trace(const struct rec_counters *c, const struct rec_counter *e,
				 const struct rec_options *o, struct rec_error *error)
{
	if (o->has_clockid && e->event && rec_aux_has_own_clock(e->event))
		return refuse(
			error, e, "omit -k; with call chains: --call-graph fp",
			"its times are of the CPU's own counter, and no clock chosen by -k (or "
			"by call chains through BPF) can be compared with them");
	if (leader_of(c, e) != e && leader_of(c, e)->aux)
		return refuse(error, e, "name it in an -e of its own",
			      "a hardware trace leads its group, and '%s' leads it already",
			      leader_of(c, e)->name);
	if (e->aux->is_soft)
		return check_soft(c, e, o, error);
	vec_for_each (&c->list, other)
		if (other < e && other->aux && other->attr.type == e->attr.type && !e->cpus.nr)
			return refuse(
				error, e, "record one at a time",
				"a task or CPU has one event of such a PMU at a time, and '%s' is one",
				other->name);
	return CLEW_OK;
}

enum clew_err rec_aux_rules(const struct rec_counters *c, const struct rec_options *o,
			    struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&c->list, e) {
		err = check_place(c, e, error);
		if (err == CLEW_OK)
			err = check_trigger(e, error);
		if (err == CLEW_OK && e->aux)
			err = check_trace(c, e, o, error);
		if (err != CLEW_OK)
			return err;
	}
	return err;
}

static uint32_t actions_on(const struct rec_counters *c, const struct rec_counter *trace)
{
	uint32_t actions = 0;

	vec_for_each (&c->list, e)
		if (leader_of(c, e) == trace)
			actions |= e->attr.aux_action;
	return actions;
}

static void warn_samples(const struct rec_counter *e, const struct rec_ui *ui)
{
	if (e->attr.aux_sample_size > REC_MAX_AUX_SAMPLE)
		rec_say(ui, REC_WARNING,
			"'%s': aux-sample-size=%u: a record has at most 65535 bytes, so that samples "
			"carry less",
			e->name, e->attr.aux_sample_size);
}

/* Each CPU has an event of its own, and each event its own state. */
static void warn_per_cpu(const struct rec_counters *c, const struct rec_counter *trace,
			 uint32_t actions, const struct rec_ui *ui)
{
	if (!(actions & TRIGGER) || trace->aux->is_soft || !c->target ||
	    c->target->cpus.data[0] < 0 || (c->target->is_system_wide && c->target->cpus.nr == 1))
		return;
	rec_say(ui, REC_WARNING,
		"'%s' is paused and resumed on each CPU by itself: a thread that moves to another CPU "
		"between the two is traced on after its end, or not at all; --per-thread has one "
		"state for each thread",
		trace->name);
}

void rec_aux_warn(const struct rec_counters *c, const struct rec_ui *ui)
{
	vec_for_each (&c->list, e) {
		uint32_t actions = e->aux ? actions_on(c, e) : 0;

		warn_samples(e, ui);
		warn_per_cpu(c, e, actions, ui);
		if (actions & PERF_AUX_START_PAUSED && !(actions & PERF_AUX_RESUME))
			rec_say(ui, REC_WARNING,
				"'%s' starts paused, and no event with aux-action=resume starts it: "
				"nothing will be traced",
				e->name);
		if (actions & PERF_AUX_RESUME && !(actions & PERF_AUX_START_PAUSED))
			rec_say(ui, REC_WARNING,
				"'%s' has an event that resumes it, but runs from the start: add "
				"aux-action=start-paused to it",
				e->name);
	}
}
