/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/aux_pmu.h"

#include <stddef.h>
#include <string.h>

#include "perfdata/perf_abi.h"

static const struct aux_pmu pmus[] = {
	{"intel_pt",  PERF_AUXTRACE_INTEL_PT,  true,  true,  false},
	{"intel_bts", PERF_AUXTRACE_INTEL_BTS, false, true,  false},
	{"cs_etm",    PERF_AUXTRACE_CS_ETM,    true,  true,  false},
	{"arm_spe",   PERF_AUXTRACE_ARM_SPE,   true,  true,  false},
	{"hisi_ptt",  PERF_AUXTRACE_HISI_PTT,  false, false, false},
	{"soft_pt",   PERF_AUXTRACE_INTEL_PT,  true,  true,  true },
};

const struct aux_pmu aux_pmu_other = {"", PERF_AUXTRACE_UNKNOWN, false, true, false};

const struct aux_pmu *aux_pmu_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof(pmus) / sizeof(*pmus); i++)
		if (!strncmp(name, pmus[i].name, strlen(pmus[i].name)))
			return &pmus[i];
	return NULL;
}
