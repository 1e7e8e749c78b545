/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "doctor/doctor_rows.h"
#include "os/perf/tracefs.h"

static uint64_t levels(const struct doctor *d)
{
	return PERF_ATTR_DISABLED | (os_caps_can_profile_kernel(&d->world.caps)
					     ? 0
					     : PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV);
}

static struct perf_attr sampling(const struct doctor *d, uint32_t type, uint64_t config)
{
	return (struct perf_attr){.type = type,
				  .size = PERF_ATTR_SIZE_VER5,
				  .config = config,
				  .sample_period = 1000000,
				  .sample_type = PERF_SAMPLE_IP,
				  .flags = levels(d)};
}

static void software(struct doctor *d)
{
	struct perf_attr attr = sampling(d, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);

	doctor_outcome(d, "software-events", "software events",
		       "cpu-clock, page-faults, context-switches, ...",
		       &(struct doctor_trial){&attr, NULL, 0, doctor_try(&attr, 0, -1)});
}

static void hardware(struct doctor *d)
{
	struct perf_attr attr = sampling(d, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int err = doctor_try(&attr, 0, -1);

	doctor_outcome(d, "hardware-counters", "hardware counters",
		       "cycles, instructions, cache-misses, ...",
		       &(struct doctor_trial){&attr, NULL, 0, err});
	if (err)
		return;
	attr.flags |= 1ull << PERF_ATTR_PRECISE_IP_SHIFT;
	doctor_outcome(d, "precise", "precise sampling (:p)", "",
		       &(struct doctor_trial){&attr, NULL, 0, doctor_try(&attr, 0, -1)});
	attr = sampling(d, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	doctor_outcome(d, "branch-stack", "branch stacks (-b)", "",
		       &(struct doctor_trial){&attr, NULL, 0, doctor_try(&attr, 0, -1)});
}

static void tracepoint_of(struct doctor *d, const char *root)
{
	static const char title[] = "tracepoints";
	struct perf_attr attr = sampling(d, PERF_TYPE_TRACEPOINT, 0);
	uint32_t id;

	if (os_tracefs_event_id(root, "sched", "sched_switch", &id, NULL)) {
		doctor_no(d, "tracepoints", title, NULL, "%s has no sched:sched_switch", root);
		return;
	}
	attr.config = id;
	attr.sample_type |= PERF_SAMPLE_RAW;
	doctor_outcome(d, "tracepoints", title, doctor_text(d, "described in %s", root),
		       &(struct doctor_trial){&attr, NULL, 0, doctor_try(&attr, 0, -1)});
}

static void tracepoints(struct doctor *d)
{
	const char *root;

	switch (os_tracefs_find(&root)) {
	case OS_TRACEFS_READABLE:
		doctor_yes(d, "tracefs", "tracefs", "%s", root);
		tracepoint_of(d, root);
		break;
	case OS_TRACEFS_NO_ACCESS:
		doctor_no(d, "tracefs", "tracefs",
			  doctor_text(d, "sudo mount -o remount,mode=750,gid=$(id -g) %s", root),
			  "%s is not readable by this user: tracepoints have no names", root);
		break;
	case OS_TRACEFS_NOT_MOUNTED:
		doctor_no(d, "tracefs", "tracefs",
			  doctor_text(d, "sudo mount -t tracefs nodev %s", root),
			  "not mounted at %s: tracepoints have no names", root);
		break;
	case OS_TRACEFS_NOT_BUILT:
		doctor_no(d, "tracefs", "tracefs", NULL,
			  "this kernel has none (CONFIG_FTRACE), or this container hides it");
		break;
	}
}

static void probes(struct doctor *d, const char *name, const char *id, const char *title,
		   const char *config)
{
	if (!os_pmus_find(&d->pmus, name, strlen(name)))
		doctor_no(d, id, title, NULL, "this kernel is built without %s", config);
	else if (!os_caps_is_perfmon(&d->world.caps))
		doctor_no(d, id, title, doctor_setcap(d), "placing probes needs CAP_PERFMON");
	else
		doctor_yes(d, id, title, "%s:...", name);
}

static void breakpoints(struct doctor *d)
{
	static const uint64_t watched;
	struct perf_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				 .size = PERF_ATTR_SIZE_VER5,
				 .sample_period = 1,
				 .flags = PERF_ATTR_DISABLED | PERF_ATTR_EXCLUDE_KERNEL |
					  PERF_ATTR_EXCLUDE_HV,
				 .bp_type = 2,
				 .config1 = (uint64_t)(uintptr_t)&watched,
				 .config2 = 8};

	doctor_outcome(d, "breakpoints", "breakpoints", "mem:ADDRESS",
		       &(struct doctor_trial){&attr, NULL, 0, doctor_try(&attr, 0, -1)});
}

void doctor_events(struct doctor *d)
{
	d->section = "Events";
	software(d);
	hardware(d);
	tracepoints(d);
	probes(d, "uprobe", "uprobes", "user space probes", "CONFIG_UPROBE_EVENTS");
	probes(d, "kprobe", "kprobes", "kernel probes", "CONFIG_KPROBE_EVENTS");
	breakpoints(d);
}

/* Records other than samples that the kernel can write. */
void doctor_records(struct doctor *d)
{
	/* clang-format off */
	static const struct { uint64_t flag; const char *id, *title; bool is_privileged; } rows[] = {
		{ PERF_ATTR_CONTEXT_SWITCH,  "switch-events",     "context switches (--switch-events)", false },
		{ PERF_ATTR_NAMESPACES,      "namespaces",        "namespaces (--namespaces)", true },
		{ PERF_ATTR_CGROUP,          "cgroup-records",    "cgroups (--all-cgroups)", false },
		{ PERF_ATTR_BUILD_ID,        "build-ids",         "build ids in mappings", false },
		{ PERF_ATTR_KSYMBOL,         "ksymbols",          "symbols of BPF and trampolines", false },
		{ PERF_ATTR_TEXT_POKE,       "text-poke",         "changes of kernel code", false },
		{ PERF_ATTR_USE_CLOCKID,     "clockid",           "choice of clock (-k)", false },
		{ PERF_ATTR_DEFER_CALLCHAIN, "deferred-callchains", "deferred user call chains", false },
	};
	/* clang-format on */
	const struct rec_features *f = &d->world.features;

	d->section = "Records";
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct rec_feature_name *n = rec_flag_names;

		while (n->bit != rows[i].flag)
			n++;
		if (!f->can_open)
			doctor_no(d, rows[i].id, rows[i].title, NULL, "perf events are closed");
		else if (!(f->flags & rows[i].flag))
			doctor_no(d, rows[i].id, rows[i].title, NULL,
				  "this kernel does not know attr.%s (mainline since Linux %s)",
				  n->name, n->since);
		else if (rows[i].is_privileged && !os_caps_is_perfmon(&d->world.caps))
			doctor_no(d, rows[i].id, rows[i].title, doctor_setcap(d),
				  "needs CAP_PERFMON");
		else
			doctor_yes(d, rows[i].id, rows[i].title, "%s", "");
	}
	if (f->can_open && f->read_format & PERF_FORMAT_LOST)
		doctor_yes(d, "lost-counts", "lost samples by event", "%s", "");
	else
		doctor_no(d, "lost-counts", "lost samples by event", NULL,
			  "this kernel counts them for the buffer as a whole (mainline since Linux "
			  "6.0)");
}
