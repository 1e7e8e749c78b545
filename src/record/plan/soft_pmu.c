/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/soft_pmu.h"

#include "perfdata/aux_layout.h"

static const struct os_pmu_format formats[] = {
	{"noretcomp",  0, AUX_PT_CONFIG_NORETCOMP},
	{"psb_period", 0, SOFT_PMU_PSB_PERIOD    },
	{"tsc",        0, AUX_PT_CONFIG_TSC      },
};

struct os_pmu soft_pmu(void)
{
	struct os_pmu p = {.name = SOFT_PMU_NAME,
			   .dir = "/dev/null", /* it has no files */
			   .type = AUX_SOFT_PT_TYPE,
			   .is_loaded = true};

	p.formats.data = (struct os_pmu_format *)(uintptr_t)formats;
	p.formats.nr = p.formats.cap = sizeof(formats) / sizeof(*formats);
	return p;
}
