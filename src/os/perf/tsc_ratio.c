/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/tsc_ratio.h"

#if defined(__x86_64__) || defined(__i386__)
# include <cpuid.h>

enum { CPUID_TSC_LEAF = 0x15 };

struct os_tsc_ratio os_tsc_ratio(void)
{
	unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;

	if (!__get_cpuid(CPUID_TSC_LEAF, &eax, &ebx, &ecx, &edx) || !eax || !ebx)
		return (struct os_tsc_ratio){0};
	return (struct os_tsc_ratio){.numerator = ebx, .denominator = eax};
}
#else
struct os_tsc_ratio os_tsc_ratio(void)
{
	return (struct os_tsc_ratio){0};
}
#endif
