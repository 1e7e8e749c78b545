/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/etm_unit.h"

#include <stdio.h>

enum { NAME_BYTES = 64 };

static const char *name_below(char name[NAME_BYTES], uint32_t cpu, const char *file)
{
	snprintf(name, NAME_BYTES, "cpu%u/%s", cpu, file);
	return name;
}

bool etm_unit_hex(const struct os_pmu *pmu, uint32_t cpu, const char *file, uint64_t *ret)
{
	char name[NAME_BYTES];

	return os_pmu_hex(pmu, name_below(name, cpu, file), ret);
}

int64_t etm_unit_ts_source(const struct os_pmu *pmu, uint32_t cpu)
{
	char name[NAME_BYTES];
	int64_t v;

	return os_pmu_signed(pmu, name_below(name, cpu, "ts_source"), &v) ? v : -1;
}

/* Spec: TRCDEVARCH.ARCHVER and ARCHPART of ETE. */
static bool is_ete(uint64_t devarch)
{
	return (devarch >> 12 & 0xf) == 5 && (devarch & 0xfff) == 0xa13;
}

enum etm_unit_kind etm_unit_kind(const struct os_pmu *pmu, uint32_t cpu)
{
	uint64_t v;

	if (etm_unit_hex(pmu, cpu, "mgmt/trcdevarch", &v) && is_ete(v))
		return ETM_UNIT_ETE;
	if (etm_unit_hex(pmu, cpu, "trcidr/trcidr0", &v))
		return ETM_UNIT_ETM4;
	return etm_unit_hex(pmu, cpu, "mgmt/etmccer", &v) ? ETM_UNIT_ETM3 : ETM_UNIT_NONE;
}
