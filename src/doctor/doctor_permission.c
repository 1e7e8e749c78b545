/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "doctor/doctor_rows.h"

static struct perf_attr clock_attr(void)
{
	return (struct perf_attr){.type = PERF_TYPE_SOFTWARE,
				  .size = PERF_ATTR_SIZE_VER0,
				  .config = PERF_COUNT_SW_CPU_CLOCK,
				  .sample_period = 1000000,
				  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
				  .flags = PERF_ATTR_DISABLED};
}

static void paranoid(struct doctor *d)
{
	static const char *const meanings[] = {
		"every user may record everything",
		"users may record everything but raw tracepoints",
		"users may record their own processes, kernel included",
		"users may record their own processes in user space only",
		"users may record nothing (a distribution's addition)",
	};
	int level = d->world.caps.paranoid;
	int row = level < -1 ? 0 : level > 3 ? 4 : level + 1;

	if (level == OS_PARANOID_UNKNOWN)
		doctor_fact(d, "paranoid", "paranoid level", "/proc/sys cannot be read");
	else
		doctor_fact(d, "paranoid", "paranoid level", "kernel.perf_event_paranoid = %d: %s",
			    level, meanings[row]);
}

static void capabilities(struct doctor *d)
{
	/* clang-format off */
	static const struct { enum os_cap cap; const char *name; } caps[] = {
		{ OS_CAP_PERFMON, "perfmon" },        { OS_CAP_SYS_ADMIN, "sys_admin" },
		{ OS_CAP_SYS_PTRACE, "sys_ptrace" },  { OS_CAP_SYSLOG, "syslog" },
		{ OS_CAP_IPC_LOCK, "ipc_lock" },      { OS_CAP_BPF, "bpf" },
	};
	/* clang-format on */
	char names[128] = "";
	size_t n = 0;

	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		if (os_caps_has(&d->world.caps, caps[i].cap))
			n += (size_t)snprintf(names + n, sizeof(names) - n, " %s", caps[i].name);
	}
	if (!d->world.caps.is_initial_user_ns)
		snprintf(names, sizeof(names), "%s",
			 " none: those of a user namespace do not count");
	doctor_fact(d, "capabilities", "capabilities", "user %u,%s", d->world.caps.uid,
		    *names ? names : " none of perfmon sys_admin sys_ptrace syslog ipc_lock bpf");
}

static void levels(struct doctor *d)
{
	struct perf_attr user = clock_attr(), kernel = clock_attr();
	int err;

	user.flags |= PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV;
	err = doctor_try(&user, 0, -1);
	d->report->can_record = !err;
	doctor_outcome(d, "user-space", "own processes, user space", "", &user, NULL, 0, err);
	err = doctor_try(&kernel, 0, -1);
	d->report->can_record |= !err;
	doctor_outcome(d, "kernel-space", "own processes, kernel", "", &kernel, NULL, 0, err);
	doctor_outcome(d, "system-wide", "all processes (-a)", "", &kernel, NULL, -1,
		       doctor_try(&kernel, -1, 0));
}

static void others(struct doctor *d)
{
	const struct os_caps *c = &d->world.caps;

	if (os_caps_is_perfmon(c) || os_caps_has(c, OS_CAP_SYS_PTRACE))
		doctor_yes(d, "other-users", "other users' processes", "%s", "");
	else
		doctor_no(d, "other-users", "other users' processes", doctor_setcap(d),
			  "this user may record its own only");
}

void doctor_permissions(struct doctor *d)
{
	d->section = "Permissions";
	paranoid(d);
	capabilities(d);
	levels(d);
	others(d);
}

static void memory(struct doctor *d)
{
	const struct os_caps *c = &d->world.caps;

	if (os_caps_has(c, OS_CAP_IPC_LOCK) || c->paranoid == -1)
		doctor_fact(d, "buffers", "buffer size (-m)", "any");
	else if (c->memlock_bytes == UINT64_MAX)
		doctor_fact(d, "buffers", "buffer size (-m)", "any (ulimit -l is unlimited)");
	else
		doctor_fact(d, "buffers", "buffer size (-m)",
			    "%llu KiB a CPU (kernel.perf_event_mlock_kb) and %llu KiB in all "
			    "(ulimit -l)",
			    (unsigned long long)c->mlock_kb,
			    (unsigned long long)c->memlock_bytes >> 10);
}

void doctor_limits(struct doctor *d)
{
	const struct rec_world *w = &d->world;
	int64_t percent = 0, watchdog = 0;

	d->section = "Limits";
	memory(d);
	os_sysctl("kernel/perf_cpu_time_max_percent", &percent);
	doctor_fact(
		d, "sample-rate", "sample rate (-F)",
		"up to %lld Hz, lowered by the kernel when sampling takes more than %lld%% of a "
		"CPU",
		(long long)w->max_rate, (long long)percent);
	doctor_fact(d, "stack-depth", "call chain depth",
		    "up to %lld (kernel.perf_event_max_stack)", (long long)w->max_stack);
	doctor_fact(d, "files", "open files",
		    "%llu, can be raised to %llu: events times CPUs times threads",
		    (unsigned long long)w->caps.nr_files,
		    (unsigned long long)w->caps.nr_files_hard);
	if (!w->has_core_pmu || !os_sysctl("kernel/nmi_watchdog", &watchdog))
		return;
	if (watchdog)
		doctor_no(d, "nmi-watchdog", "all hardware counters free",
			  "sudo sysctl kernel.nmi_watchdog=0",
			  "the NMI watchdog keeps one counter for itself");
	else
		doctor_yes(d, "nmi-watchdog", "all hardware counters free", "%s",
			   "the NMI watchdog is off");
}
