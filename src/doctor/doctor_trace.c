/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "doctor/doctor_rows.h"
#include "os/file.h"
#include "os/ptrace.h"

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

/* The PMUs that were tried. */
struct traces {
	bool has_any, has_pause;
	char usable[128]; /* events to record, with commas */
};

static void add_usable(struct traces *s, const char *pmu)
{
	size_t n = strlen(s->usable);

	snprintf(s->usable + n, sizeof(s->usable) - n, "%s-e %s//", n ? ", " : "", pmu);
}

static void trace_row(struct doctor *d, const struct trace_pmu *t, struct traces *s)
{
	const struct os_pmu *pmu = find(d, t->pmu);
	uint64_t nr_filters = 0;
	struct perf_attr attr;
	bool pauses;
	int err;

	if (!pmu) {
		if (strcmp(t->cpu, this_cpu))
			doctor_no(d, t->id, t->title, NULL, "this is no %s CPU", t->cpu);
		else
			doctor_no(d, t->id, t->title, NULL, "%s", t->why_not);
		return;
	}
	attr = trace_attr(pmu);
	pauses = can_pause(d, pmu);
	err = doctor_try(&attr, 0, -1);
	s->has_any = true;
	s->has_pause |= pauses;
	if (!err)
		add_usable(s, pmu->name);
	os_pmu_number(pmu, "nr_addr_filters", &nr_filters);
	doctor_outcome(d, t->id, t->title,
		       doctor_text(d, "%s, AUX area%s, %llu address filters", pmu->name,
				   pauses ? ", pause and resume" : "",
				   (unsigned long long)nr_filters),
		       &(struct doctor_trial){&attr, pmu->name, 0, err});
}

enum { MAX_CPUINFO = 16 << 20 };

/* Only x86 says so everywhere. */
static bool is_virtual(void)
{
	char *text, *flags;
	size_t n;
	bool is_found;

	if (os_read_file("/proc/cpuinfo", MAX_CPUINFO, &text, &n, NULL))
		return false;
	flags = strstr(text, "\nflags");
	if (flags)
		flags[strcspn(flags + 1, "\n") + 1] = '\0';
	is_found = flags && strstr(flags, " hypervisor");
	mem_free(text);
	return is_found;
}

static bool is_yes(const struct doctor *d, const char *id)
{
	vec_for_each (&d->report->rows, r)
		if (!strcmp(r->id, id))
			return r->state == DOCTOR_YES;
	return false;
}

/* What comes nearest to a trace, of what this machine can. */
static const char *instead(struct doctor *d, bool is_guest)
{
	const struct {
		bool is_there;
		const char *text;
	} ways[] = {
		{os_ptrace_is_possible(),
		 "each instruction of a program, stepped: clew record -e soft_pt//u COMMAND"                },
		{is_guest,
		 "trace it from its host: a trace of the host has its guests (clew merge)"                  },
		{is_yes(d,								   "branch-stack"),
		 "the last branches before each sample: clew record -b COMMAND"},
		{is_yes(d,									  "uprobes"),
		 "every call of a function: clew record -g -e uprobe:FILE:FUNCTION COMMAND"},
		{is_yes(d, "software-events"),
		 "samples with whole stacks: clew record -g -F max COMMAND"},
		{true,
		 "read traces of other machines here: clew report -i FILE (CoreSight and Arm SPE)"                                 },
	};
	const char *text = "";

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (ways[i].is_there)
			text = doctor_text(d, "%s%s%s", text, *text ? ", or " : "", ways[i].text);
	return text;
}

/* Is there any, and what if not? */
static void any_row(struct doctor *d, const struct traces *s)
{
	static const char id[] = "hardware-trace", title[] = "hardware trace (AUX area)";
	bool is_guest = !s->has_any && is_virtual();

	if (*s->usable)
		doctor_yes(d, id, title, "clew record %s", s->usable);
	else if (s->has_any)
		doctor_no(d, id, title, instead(d, false), "no trace PMU can be opened: see above");
	else
		doctor_no(d, id, title, instead(d, is_guest),
			  "there is no PMU that writes a trace%s",
			  is_guest ? ": this is a virtual machine, and its hypervisor shows none"
				   : "");
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
	struct traces s = {0};

	d->section = "Hardware";
	pmus(d);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		trace_row(d, &known[i], &s);
	any_row(d, &s);
	pause_row(d, s.has_pause, s.has_any);
}
