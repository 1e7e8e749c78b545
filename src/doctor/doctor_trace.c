/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/doctor_rows.h"

/* PMUs that write a trace into an AUX area. sysfs says only which of them this machine has; what
 * they can do is found by trying. */
struct trace_pmu {
	const char *pmu; /* or its start, where instances are numbered */
	const char *id, *title;
	const char *cpu; /* the architecture that has it */
	const char *why_not;
};

#if defined(__x86_64__) || defined(__i386__)
static const char this_cpu[] = "x86";
#elif defined(__aarch64__) || defined(__arm__)
static const char this_cpu[] = "Arm";
#else
static const char this_cpu[] = "other";
#endif

/* clang-format off */
static const struct trace_pmu known[] = {
	{ "intel_pt",  "intel-pt",  "Intel PT", "x86",
	  "the CPU has none, or the hypervisor hides it (Intel since Broadwell; `grep -w intel_pt /proc/cpuinfo`)" },
	{ "intel_bts", "intel-bts", "Intel BTS", "x86",
	  "the CPU has none, or the hypervisor hides it" },
	{ "cs_etm",    "coresight", "Arm CoreSight ETM/ETE", "Arm",
	  "no trace units are described to the kernel (CONFIG_CORESIGHT, device tree or ACPI)" },
	{ "arm_spe",   "arm-spe",   "Arm SPE", "Arm",
	  "the CPU has none, or firmware or the hypervisor hides it (try booting with kpti=off)" },
};
/* clang-format on */

static const struct os_pmu *find(const struct doctor *d, const char *start)
{
	size_t n = strlen(start);

	for (size_t i = 0; i < d->pmus.pmus.nr; i++) {
		const struct os_pmu *p = &d->pmus.pmus.data[i];

		if (!strncmp(p->name, start, n) && (!p->name[n] || p->name[n] == '_'))
			return p;
	}
	return NULL;
}

static struct perf_attr trace_attr(const struct os_pmu *pmu)
{
	return (struct perf_attr){.type = pmu->type,
				  .size = PERF_ATTR_SIZE_VER9,
				  .sample_period = 1,
				  .flags = PERF_ATTR_DISABLED | PERF_ATTR_EXCLUDE_KERNEL |
					   PERF_ATTR_EXCLUDE_HV};
}

static bool can_pause(const struct doctor *d, const struct os_pmu *pmu)
{
	struct perf_attr attr = trace_attr(pmu);

	attr.aux_action = PERF_AUX_START_PAUSED;
	return d->world.features.has_aux_action && !doctor_try(&attr, 0, -1);
}

static void trace_row(struct doctor *d, const struct trace_pmu *t, bool *has_pause, bool *has_any)
{
	const struct os_pmu *pmu = find(d, t->pmu);
	uint64_t nr_filters = 0;
	bool pauses;
	struct perf_attr attr;

	if (!pmu) {
		if (strcmp(t->cpu, this_cpu))
			doctor_no(d, t->id, t->title, NULL, "this is no %s CPU", t->cpu);
		else
			doctor_no(d, t->id, t->title, NULL, "%s", t->why_not);
		return;
	}
	attr = trace_attr(pmu);
	pauses = can_pause(d, pmu);
	*has_any = true;
	*has_pause |= pauses;
	os_pmu_number(pmu, "nr_addr_filters", &nr_filters);
	doctor_outcome(d, t->id, t->title,
		       doctor_text(d, "%s, AUX area%s, %llu address filters", pmu->name,
				   pauses ? ", pause and resume" : "",
				   (unsigned long long)nr_filters),
		       &(struct doctor_trial){&attr, pmu->name, 0, doctor_try(&attr, 0, -1)});
}

static void pause_row(struct doctor *d, bool has_pause, bool has_any)
{
	static const char id[] = "aux-pause", title[] = "AUX pause and resume (aux-action)";

	if (!d->world.features.has_aux_action)
		doctor_no(d, id, title, NULL,
			  "this kernel does not know attr.aux_action (mainline since Linux 6.13)");
	else if (has_pause)
		doctor_yes(d, id, title, "%s", "");
	else
		doctor_no(d, id, title, NULL, "the kernel can, but %s",
			  has_any ? "no trace PMU here can" : "there is no trace PMU");
}

static void pmus(struct doctor *d)
{
	char names[1024] = "";
	size_t n = 0;

	for (size_t i = 0; i < d->pmus.pmus.nr; i++) {
		const struct os_pmu *p = &d->pmus.pmus.data[i];

		if (n + strlen(p->name) + 3 < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
					      p->name);
	}
	doctor_fact(d, "pmus", "PMUs", "%zu: %s", d->pmus.pmus.nr, names);
}

void doctor_traces(struct doctor *d)
{
	bool has_pause = false, has_any = false;

	d->section = "Hardware";
	pmus(d);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		trace_row(d, &known[i], &has_pause, &has_any);
	pause_row(d, has_pause, has_any);
}
