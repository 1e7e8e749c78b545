/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "doctor/doctor_rows.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/proc.h"

static void kernel(struct doctor *d)
{
	char release[128];

	os_kernel_release(release, sizeof(release));
	doctor_fact(d, "kernel", "kernel", "Linux %s, CPUs %s", release, d->world.cpus_online);
}

static void perf_events(struct doctor *d)
{
	struct perf_attr attr = {.type = PERF_TYPE_SOFTWARE,
				 .size = PERF_ATTR_SIZE_VER0,
				 .config = PERF_COUNT_SW_DUMMY,
				 .flags = PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV};

	doctor_outcome(d, "perf-events", "perf events",
		       doctor_text(d, "the kernel's perf_event_attr has %u bytes",
				   d->world.features.attr_bytes),
		       &(struct doctor_trial){&attr, NULL, 0, d->world.features.open_errno});
}

static void container(struct doctor *d)
{
	const struct os_caps *c = &d->world.caps;

	if (c->is_container)
		doctor_no(d, "host", "on the host", "record from the host with -p PID or -G CGROUP",
			  "this is a container (%s): other containers and the host are not visible",
			  c->container);
	else
		doctor_yes(d, "host", "on the host", "%s", "no sign of a container");
	if (c->is_initial_pid_ns)
		doctor_yes(d, "pid-namespace", "root PID namespace",
			   "PIDs are the ones that hardware traces carry");
	else
		doctor_no(d, "pid-namespace", "root PID namespace", "record from the host",
			  "PIDs here differ from those that the kernel and hardware traces use");
	if (!c->is_initial_user_ns)
		doctor_no(d, "user-namespace", "root user namespace", "record from the host",
			  "root has no rights over the kernel's perf events here");
	if (c->seccomp == 2)
		doctor_no(d, "seccomp", "no seccomp filter",
			  "docker run --security-opt seccomp=unconfined ...",
			  "a filter watches this process's system calls, and may refuse "
			  "perf_event_open and bpf");
	else
		doctor_yes(d, "seccomp", "no seccomp filter", "%s", "");
	if (strstr(d->world.lockdown, "[confidentiality]"))
		doctor_no(d, "lockdown", "no lockdown", "boot with lockdown=integrity",
			  "the kernel is locked down and cannot be traced");
}

static void cgroups(struct doctor *d)
{
	struct arena a = {0};
	const char *mounts = os_read_line("/proc/self/mounts", &a);

	if (mounts && strstr(mounts, " cgroup2 "))
		doctor_yes(d, "cgroup2", "cgroup v2", "%s", "samples can name their cgroup");
	else
		doctor_no(d, "cgroup2", "cgroup v2", "sudo mount -t cgroup2 none /sys/fs/cgroup",
			  "not mounted: cgroups have no names");
	if (mounts && strstr(mounts, "perf_event"))
		doctor_yes(d, "cgroup-events", "events of a cgroup (-G)",
			   "perf_event controller, v1");
	else if (mounts && strstr(mounts, " cgroup2 "))
		doctor_yes(d, "cgroup-events", "events of a cgroup (-G)", "by cgroup v2");
	else
		doctor_no(d, "cgroup-events", "events of a cgroup (-G)",
			  "sudo mount -t cgroup2 none /sys/fs/cgroup", "no cgroups are mounted");
	arena_done(&a);
}

static void perf_tool(struct doctor *d)
{
	static const char *const places[] = {"/usr/bin/perf", "/usr/local/bin/perf"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (os_exists(places[i])) {
			doctor_fact(
				d, "perf", "perf",
				"%s reads what clew writes (separate user stacks of --call-graph "
				"KIND,deferred, in pipes and after kill -9: from perf 6.19 on)",
				places[i]);
			return;
		}
	}
	doctor_fact(d, "perf", "perf", "not installed, and not needed");
}

void doctor_system(struct doctor *d)
{
	d->section = "System";
	kernel(d);
	perf_events(d);
	container(d);
	cgroups(d);
	perf_tool(d);
}
