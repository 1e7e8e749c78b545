/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_AUX_PMU_H
#define RECORD_PLAN_AUX_PMU_H

#include <stdbool.h>
#include <stdint.h>

/** A kind of PMU that writes a trace into an AUX area. No file of sysfs says which do. */
struct aux_pmu {
	const char *name;  /* or its start, where instances are numbered */
	uint32_t info;     /* PERF_AUXTRACE_*: the kind of its AUXTRACE_INFO */
	bool is_described; /* we can write that (record/aux/aux_info.h); else there is none, as perf
			      refuses a file with one of a kind that it does not know */
	bool traces_tasks; /* and not only CPUs */
	bool is_soft;      /* no PMU of the kernel: record/soft steps the threads */
};

/** One of no name that we know: it mapped an AUX area (record/event/event_learn.c). */
extern const struct aux_pmu aux_pmu_other;

/** @p name: as in sysfs; may be NULL. @return NULL: none that we know. */
const struct aux_pmu *aux_pmu_find(const char *name);

#endif
