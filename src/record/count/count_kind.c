/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/count/count_kind.h"

#include <string.h>

#define READ(cache, is_miss) (PERF_COUNT_HW_CACHE_##cache | (uint64_t)(is_miss) << 16)

/* clang-format off */
static const struct {
	uint32_t type;
	uint64_t config;
	enum count_kind kind;
} kinds[] = {
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, COUNT_CLOCK},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, COUNT_CLOCK},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, COUNT_CYCLES},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, COUNT_INSTRUCTIONS},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, COUNT_BRANCHES},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, COUNT_BRANCH_MISSES},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, COUNT_STALLED_FRONT},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, COUNT_STALLED_BACK},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, COUNT_CACHE_REFS},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, COUNT_CACHE_MISSES},
	{PERF_TYPE_HW_CACHE, READ(L1D, false), COUNT_L1D_LOADS},
	{PERF_TYPE_HW_CACHE, READ(L1D, true), COUNT_L1D_MISSES},
	{PERF_TYPE_HW_CACHE, READ(L1I, false), COUNT_L1I_LOADS},
	{PERF_TYPE_HW_CACHE, READ(L1I, true), COUNT_L1I_MISSES},
	{PERF_TYPE_HW_CACHE, READ(LL, false), COUNT_LLC_LOADS},
	{PERF_TYPE_HW_CACHE, READ(LL, true), COUNT_LLC_MISSES},
	{PERF_TYPE_HW_CACHE, READ(DTLB, false), COUNT_DTLB_LOADS},
	{PERF_TYPE_HW_CACHE, READ(DTLB, true), COUNT_DTLB_MISSES},
	{PERF_TYPE_HW_CACHE, READ(ITLB, false), COUNT_ITLB_LOADS},
	{PERF_TYPE_HW_CACHE, READ(ITLB, true), COUNT_ITLB_MISSES},
};

/* Events of sysfs, by name, as their numbers differ from core to core. */
static const struct {
	const char *name;
	enum count_kind kind;
} named[] = {
	{"topdown-retiring", COUNT_TOP_RETIRING},
	{"topdown-bad-spec", COUNT_TOP_BAD_SPEC},
	{"topdown-fe-bound", COUNT_TOP_FRONT},
	{"topdown-be-bound", COUNT_TOP_BACK},
	{"topdown-total-slots", COUNT_SLOTS},
	{"topdown-slots-issued", COUNT_SLOTS_ISSUED},
	{"topdown-slots-retired", COUNT_SLOTS_RETIRED},
	{"topdown-fetch-bubbles", COUNT_SLOTS_BUBBLES},
	{"topdown-recovery-bubbles", COUNT_SLOTS_RECOVERY},
};
/* clang-format on */

/* "topdown-retiring:u", "cpu_core/topdown-retiring/" */
static enum count_kind kind_of_name(const char *name)
{
	const char *at = strstr(name, "topdown-");
	size_t len = at ? strcspn(at, "/:,") : 0;

	for (size_t i = 0; at && i < sizeof(named) / sizeof(*named); i++)
		if (strlen(named[i].name) == len && !memcmp(at, named[i].name, len))
			return named[i].kind;
	return COUNT_OTHER;
}

enum count_kind count_kind_of(const struct perf_attr *a, const char *name)
{
	/* The upper half names the PMU where there are several kinds of cores. */
	uint64_t config = a->type == PERF_TYPE_SOFTWARE ? a->config : (uint32_t)a->config;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == a->type && kinds[i].config == config)
			return kinds[i].kind;
	return kind_of_name(name);
}
