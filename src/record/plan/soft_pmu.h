/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_SOFT_PMU_H
#define RECORD_PLAN_SOFT_PMU_H

#include "os/perf/pmu.h"

/*
 * The software trace source spelled as a PMU: "soft_pt/psb_period=3/u". No kernel has it: its
 * events are opened as dummies, and record/soft writes the trace.
 */

#define SOFT_PMU_NAME "soft_pt"

/** Where config has the period, as that of Intel PT does. Its other bits are AUX_PT_CONFIG_. */
enum {
	SOFT_PMU_PSB_SHIFT = 24,
	SOFT_PMU_PSB_PERIOD = 15 << SOFT_PMU_PSB_SHIFT, /* bytes: 2 to the power of 11 and this */
	SOFT_PMU_PSB_DEFAULT = 1,
};

/** Its description, as os_pmu_load() makes them. Only to be read. */
struct os_pmu soft_pmu(void);

#endif
