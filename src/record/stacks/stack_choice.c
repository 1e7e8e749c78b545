/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/stack_choice.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/caps.h"
#include "os/pid_view.h"
#include "os/proc.h"
#include "record/refusal/refusal.h"
#include "record/stacks/stack_probe.h"
#include "record/stacks/tables/preload.h"

const char *rec_stacks_name(enum rec_stacks s)
{
	static const char *const names[NR_REC_STACKS] = {
		[REC_STACKS_NONE] = "none",
		[REC_STACKS_BPF_DEFERRED] = "bpf-deferred",
		[REC_STACKS_KERNEL_DEFERRED] = "kernel-deferred",
		[REC_STACKS_BPF_IMMEDIATE] = "bpf-immediate",
		[REC_STACKS_COPY] = "copy",
		[REC_STACKS_STORED] = "stored",
		[REC_STACKS_FP] = "fp",
		[REC_STACKS_LBR] = "lbr",
		[REC_STACKS_AUTO] = "auto",
	};

	return s < NR_REC_STACKS ? names[s] : "?";
}

const char *rec_stacks_spelling(enum rec_stacks kind)
{
	static const char *const texts[NR_REC_STACKS] = {
		[REC_STACKS_NONE] = "no",
		[REC_STACKS_BPF_DEFERRED] = "sframe",
		[REC_STACKS_KERNEL_DEFERRED] = "defer",
		[REC_STACKS_BPF_IMMEDIATE] = "sframe,immediate",
		[REC_STACKS_COPY] = "dwarf",
		[REC_STACKS_STORED] = "dwarf",
		[REC_STACKS_FP] = "fp",
		[REC_STACKS_LBR] = "lbr",
		[REC_STACKS_AUTO] = "auto",
	};

	return kind < NR_REC_STACKS ? texts[kind] : "?";
}

const char *rec_stacks_what(enum rec_stacks kind)
{
	static const char *const texts[NR_REC_STACKS] = {
		[REC_STACKS_NONE] = "",
		[REC_STACKS_BPF_DEFERRED] =
			"unwind tables in the kernel, stacks read on the return to user mode",
		[REC_STACKS_KERNEL_DEFERRED] =
			"the kernel follows frame pointers on the return to user mode",
		[REC_STACKS_BPF_IMMEDIATE] =
			"unwind tables in the kernel, user stacks read at the sample",
		[REC_STACKS_COPY] = "user stacks are copied, and unwound while recording",
		[REC_STACKS_STORED] = "user stacks are copied into the file",
		[REC_STACKS_FP] =
			"the kernel follows frame pointers; code without them has wrong callers",
		[REC_STACKS_LBR] = "the CPU's branch records",
		[REC_STACKS_AUTO] = "",
	};

	return kind < NR_REC_STACKS ? texts[kind] : "";
}

/* BPF reads these clocks, so that requests and samples can be compared. */
static bool is_bpf_clock(int32_t id)
{
	return id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_TAI;
}

static bool has_overwrite(const struct rec_options *o, const struct rec_event_list *events)
{
	vec_for_each (&events->events, e)
		if (e->has_overwrite ? e->wants_overwrite : o->is_overwrite)
			return true;
	return false;
}

static bool has_timeless(const struct rec_options *o, const struct rec_event_list *events)
{
	vec_for_each (&events->events, e)
		if (e->has_time_term ? !e->wants_time : o->with_time == REC_NO)
			return true;
	return false;
}

/* What else was asked for and does not go with it; NULL: nothing. */
static const char *conflict(const struct rec_stack_choice *c, enum rec_stacks kind)
{
	const struct rec_options *o = c->options;

	if (!rec_stacks_is_rewritten(kind))
		return NULL;
	if (has_overwrite(o, c->events))
		return "overwritten buffers (--overwrite) keep samples, but not their user stacks";
	if (has_timeless(o, c->events))
		return "samples without time (-T off, time=0) cannot be put in order";
	if (rec_stacks_is_bpf(kind) && o->has_clockid && !is_bpf_clock(o->clockid))
		return "BPF reads the clocks monotonic, boottime and tai only (-k)";
	return NULL;
}

static enum clew_err open_bpf(const struct rec_stack_choice *c, enum rec_stacks kind,
			      struct defer_bpf **ret, struct rec_error *error)
{
	const struct rec_options *o = c->options;
	const struct defer_bpf_opts opts = {.is_immediate = kind == REC_STACKS_BPF_IMMEDIATE,
					    .max_stack = rec_stack_plan_frames(&o->stacks),
					    .nr_cpus = rec_nr_possible_cpus(),
					    .clockid =
						    o->has_clockid ? o->clockid : CLOCK_MONOTONIC,
					    .is_system_wide = c->target->is_system_wide};

	return defer_bpf_open(ret, &opts, error);
}

static bool may_use_bpf(void)
{
	struct os_caps caps;

	os_caps_read(&caps);
	return os_caps_may_load_bpf(&caps);
}

/* BPF names tasks by root ids, samples by those of our namespace: no stack would find its sample.
 */
static bool is_inside(void)
{
	struct os_pid_view view;

	os_pid_view_read(&view);
	return view.own == OS_PID_NS_OTHER;
}

/* @return CLEW_OK: taken. Else why not. */
static enum clew_err try_kind(struct rec_stack_choice *c, enum rec_stacks kind,
			      struct rec_stack_plan *ret, struct rec_error *error)
{
	const char *why = conflict(c, kind);
	enum clew_err err = CLEW_OK;

	if (c->refused >> kind & 1)
		return rec_fail(error, CLEW_UNSUPPORTED, "it was refused for one of the events");
	if (why)
		return rec_fail(error, CLEW_UNSUPPORTED, "%s", why);
	if (rec_stacks_is_bpf(kind) && !may_use_bpf())
		err = rec_fail(
			error, CLEW_UNSUPPORTED,
			"it needs CAP_BPF and CAP_PERFMON: run as root, or give them to clew with "
			"setcap " REC_SETCAP);
	else if (rec_stacks_is_bpf(kind) && is_inside())
		err = rec_fail(
			error, CLEW_UNSUPPORTED,
			"BPF names tasks by their ids in the initial PID namespace, and this "
			"is another");
	else if (rec_stacks_is_bpf(kind))
		err = open_bpf(c, kind, &c->bpf, error);
	else if (kind == REC_STACKS_KERNEL_DEFERRED)
		err = rec_probe_kernel_deferral(error);
	else if (kind == REC_STACKS_COPY)
		err = rec_probe_stack_copy(error);
	if (err != CLEW_OK)
		c->refused |= 1u << kind;
	else
		ret->kind = kind;
	return err;
}

/* The kernel's walk is as good as the tables where the program has frame pointers. */
static const char *against_kernel_walk(const struct rec_options *o)
{
	char path[4096];

	if (!may_use_bpf())
		return NULL;
	if (!o->argv || !rec_find_program(o->argv[0], o->search_path, path, sizeof(path)))
		return "it is unknown whether the programs have frame pointers";
	return rec_has_frame_pointers(path) ? NULL : "the program has no frame pointers";
}

/* Before there were locks of single mappings (Linux 6.4), a program in an interrupt mostly cannot
 * ask which one an address lies in: 60 % of its stacks end early on 6.1, of copies none. */
static const char *against_immediate(void)
{
	return os_kernel_is_from(6, 4)
		     ? NULL
		     : "before Linux 6.4, a BPF program in an interrupt can seldom look up "
		       "mappings; copies are complete";
}

static const char *against(enum rec_stacks kind, const struct rec_options *o)
{
	if (kind == REC_STACKS_KERNEL_DEFERRED)
		return against_kernel_walk(o);
	return kind == REC_STACKS_BPF_IMMEDIATE ? against_immediate() : NULL;
}

static enum clew_err choose_best(struct rec_stack_choice *c, struct rec_stack_plan *ret)
{
	static const enum rec_stacks order[] = {REC_STACKS_BPF_DEFERRED, REC_STACKS_KERNEL_DEFERRED,
						REC_STACKS_BPF_IMMEDIATE, REC_STACKS_COPY,
						REC_STACKS_FP};
	struct rec_error why = {0};
	enum clew_err err = CLEW_UNSUPPORTED;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && err != CLEW_OK; i++) {
		const char *reason = against(order[i], c->options);

		err = reason ? rec_fail(&why, CLEW_UNSUPPORTED, "%s", reason)
			     : try_kind(c, order[i], ret, &why);
		if (err == CLEW_NO_MEMORY)
			return err;
		if (err != CLEW_OK && c->options->is_verbose)
			rec_say(c->ui, REC_NOTE, "user stacks: not %s: %s",
				rec_stacks_name(order[i]), why.text);
	}
	rec_say(c->ui, REC_NOTE, "user stacks: %s (%s)", rec_stacks_name(ret->kind),
		rec_stacks_what(ret->kind));
	return CLEW_OK;
}

static enum clew_err choose_named(struct rec_stack_choice *c, enum rec_stacks kind,
				  struct rec_stack_plan *ret, struct rec_error *error)
{
	struct rec_error why = {0};
	enum clew_err err = try_kind(c, kind, ret, &why);

	if (err == CLEW_OK)
		return CLEW_OK;
	rec_fail(error, err, "--call-graph %s does not work here: %.*s", rec_stacks_spelling(kind),
		 600, why.text);
	rec_advise(error, "%s%s--call-graph auto uses what works; clew doctor lists each method",
		   why.hint, *why.hint ? "; " : "");
	return err;
}

enum clew_err rec_stacks_choose(struct rec_stack_choice *c, struct rec_stack_plan *ret,
				struct rec_error *error)
{
	enum rec_stacks kind = c->options->stacks.kind;

	*ret = c->options->stacks;
	if (kind == REC_STACKS_COPY)
		ret->kind = kind = rec_stacks_of_copies(c->options);
	if (c->options->no_user_chain && kind != REC_STACKS_NONE) {
		ret->kind = REC_STACKS_FP; /* the kernel's part is all there is */
		return CLEW_OK;
	}
	if (kind == REC_STACKS_AUTO)
		return choose_best(c, ret);
	if (rec_stacks_is_rewritten(kind) || kind == REC_STACKS_KERNEL_DEFERRED)
		return choose_named(c, kind, ret, error);
	return CLEW_OK;
}

void rec_stack_choice_done(struct rec_stack_choice *c)
{
	defer_bpf_free(c->bpf);
	c->bpf = NULL;
}

enum clew_err rec_stacks_probe(enum rec_stacks kind, struct rec_error *error)
{
	static const struct rec_event_list no_events;
	const struct rec_options o = {0};
	const struct rec_target t = {0};
	struct rec_stack_choice c = {.options = &o, .events = &no_events, .target = &t};
	struct rec_stack_plan plan = {0};
	enum clew_err err = try_kind(&c, kind, &plan, error);

	rec_stack_choice_done(&c);
	return err;
}
