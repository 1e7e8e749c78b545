/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_SOFT_PMU_H
#define RECORD_PLAN_SOFT_PMU_H

#include "os/perf/pmu.h"

/*
 * The software trace source spelled as a PMU: "soft_pt/psb_period=3/u". No kernel has it: its
 * events are opened as dummies, and record/soft writes the trace.
 */

#define SOFT_PMU_NAME "soft_pt"

/** Bits of config as Intel PT has them, so that whoever reads the file finds them where they are.
 */
enum {
	SOFT_PMU_PT = 1 << 0,
	SOFT_PMU_TSC = 1 << 10,
	SOFT_PMU_NORETCOMP = 1 << 11,
	SOFT_PMU_BRANCH = 1 << 13,
	SOFT_PMU_PSB_SHIFT = 24,
	SOFT_PMU_PSB_PERIOD = 15 << SOFT_PMU_PSB_SHIFT, /* bytes: 2 to the power of 11 and this */
	SOFT_PMU_PSB_DEFAULT = 1,
};

/** Its description, as os_pmu_load() makes them. Only to be read. */
struct os_pmu soft_pmu(void);

#endif
