/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/refusal/host_facts.h"

#include <stdio.h>

#include "base/vec.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/perf/pmu.h"

static void copy_line(const char *path, char *ret, size_t size)
{
	struct arena a = {0};
	const char *text = os_read_line(path, &a);

	snprintf(ret, size, "%s", text ? text : "");
	arena_done(&a);
}

static bool has_core_pmu(void)
{
	struct os_pmus pmus;
	bool has = false;

	if (os_pmus_read(NULL, &pmus, NULL))
		return false;
	vec_for_each (&pmus.pmus, p)
		has |= p->is_core;
	os_pmus_done(&pmus);
	return has;
}

void rec_host_facts_read(int pid, struct rec_host_facts *ret)
{
	*ret = (struct rec_host_facts){0};
	os_caps_read(&ret->caps);
	rec_probe_features(&ret->features);
	if (os_read_link("/proc/self/exe", ret->program, sizeof(ret->program)) < 0)
		ret->program[0] = '\0';
	copy_line("/sys/devices/system/cpu/online", ret->cpus_online, sizeof(ret->cpus_online));
	copy_line("/sys/kernel/security/lockdown", ret->lockdown, sizeof(ret->lockdown));
	os_sysctl("kernel/perf_event_max_sample_rate", &ret->max_rate);
	os_sysctl("kernel/perf_event_max_stack", &ret->max_stack);
	ret->has_core_pmu = has_core_pmu();
	ret->is_uid_known = pid > 0 && os_process_uid(pid, &ret->pid_uid);
}
