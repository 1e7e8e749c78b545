/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_ETM_UNIT_H
#define RECORD_PLAN_ETM_UNIT_H

#include "os/perf/pmu.h"

/*
 * The trace unit of a CPU, as the PMU cs_etm describes it below cpuN/.
 * Spec: Linux 7.3 Documentation/ABI/testing/sysfs-bus-coresight-devices-etm4x; tools/perf/arch/arm
 * /util/cs-etm.c. Registers: Arm IHI 0064 (ETMv4).
 */

enum etm_unit_kind { ETM_UNIT_NONE, ETM_UNIT_ETM3, ETM_UNIT_ETM4, ETM_UNIT_ETE };

enum etm_unit_kind etm_unit_kind(const struct os_pmu *pmu, uint32_t cpu);

/** A register or number, @p file such as "trcidr/trcidr0". */
bool etm_unit_hex(const struct os_pmu *pmu, uint32_t cpu, const char *file, uint64_t *ret);

/** Where the time comes from; -1: the kernel does not say (before 5.19). */
int64_t etm_unit_ts_source(const struct os_pmu *pmu, uint32_t cpu);

/* What a unit of ETMv4 or ETE can do. */

/** Spec: TRCIDR2.CIDSIZE: 32 bits of CONTEXTIDR_EL1. */
static inline bool etm_unit_has_contextid1(uint64_t idr2)
{
	return (idr2 >> 5 & 0x1f) == 4;
}

/** Spec: TRCIDR2.VMIDOPT and VMIDSIZE: the VMID may be CONTEXTIDR_EL2, of 32 bits. */
static inline bool etm_unit_has_contextid2(uint64_t idr2)
{
	return (idr2 >> 29 & 3) != 0 && (idr2 >> 10 & 0x1f) >= 4;
}

/** Spec: TRCIDR0.TSSIZE. */
static inline bool etm_unit_has_timestamp(uint64_t idr0)
{
	return (idr0 >> 24 & 0x1f) != 0;
}

#endif
