/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_TSC_RATIO_H
#define OS_PERF_TSC_RATIO_H

#include <stdint.h>

/** TSC ticks per tick of the core crystal clock, which counts Intel PT's CTC; 0/0: unknown. */
struct os_tsc_ratio {
	uint32_t numerator, denominator;
};

/** Of the CPU we run on. Spec: Intel SDM volume 2, "CPUID", leaf 15H. */
struct os_tsc_ratio os_tsc_ratio(void);

#endif
