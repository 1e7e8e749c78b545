/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "perfdata/perf_evlist.h"

static const char *const hardware_names[PERF_COUNT_HW_MAX] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software_names[PERF_COUNT_SW_MAX] = {
	"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

static const char *const cache_names[PERF_COUNT_HW_CACHE_MAX] = {
	"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
};

/* by [operation][is miss] */
static const char *const cache_results[3][2] = {
	{"loads",      "load-misses"    },
	{"stores",     "store-misses"   },
	{"prefetches", "prefetch-misses"},
};

static void name_of_cache(uint64_t config, char *ret, size_t size)
{
	uint64_t cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (cache < PERF_COUNT_HW_CACHE_MAX && op < 3 && result < 2)
		snprintf(ret, size, "%s-%s", cache_names[cache], cache_results[op][result]);
	else
		snprintf(ret, size, "invalid-cache");
}

static void name_of_breakpoint(const struct perf_attr *a, char *ret, size_t size)
{
	snprintf(ret, size, "mem:0x%llx:%s%s%s", (unsigned long long)a->config1,
		 a->bp_type & 1 ? "r" : "", a->bp_type & 2 ? "w" : "", a->bp_type & 4 ? "x" : "");
}

static bool has(const struct perf_attr *a, uint64_t flag)
{
	return a->flags & flag;
}

/* perf's letters: levels are named once one is omitted; host and guest where they differ from the
 * usual. */
static void add_modifiers(const struct perf_attr *a, char *ret, size_t size)
{
	char mods[16];
	size_t n = 0;
	bool guest_is_usual = true;

	if (has(a, PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_HV)) {
		if (!has(a, PERF_ATTR_EXCLUDE_KERNEL))
			mods[n++] = 'k';
		if (!has(a, PERF_ATTR_EXCLUDE_USER))
			mods[n++] = 'u';
		if (!has(a, PERF_ATTR_EXCLUDE_HV))
			mods[n++] = 'h';
		guest_is_usual = false;
	}
	for (unsigned int i = 0; i < perf_attr_precise_ip(a); i++) {
		mods[n++] = 'p';
		guest_is_usual = false;
	}
	if (has(a, PERF_ATTR_EXCLUDE_HOST) || has(a, PERF_ATTR_EXCLUDE_GUEST) == !guest_is_usual) {
		if (!has(a, PERF_ATTR_EXCLUDE_HOST))
			mods[n++] = 'H';
		if (!has(a, PERF_ATTR_EXCLUDE_GUEST))
			mods[n++] = 'G';
	}
	mods[n] = '\0';
	if (n)
		snprintf(ret + strlen(ret), size - strlen(ret), ":%s", mods);
}

void perf_attr_name(const struct perf_attr *a, char *ret, size_t size)
{
	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		snprintf(ret, size, "%s",
			 a->config < PERF_COUNT_HW_MAX ? hardware_names[a->config]
						       : "unknown-hardware");
		break;
	case PERF_TYPE_SOFTWARE:
		snprintf(ret, size, "%s",
			 a->config < PERF_COUNT_SW_MAX ? software_names[a->config]
						       : "unknown-software");
		break;
	case PERF_TYPE_HW_CACHE:
		name_of_cache(a->config, ret, size);
		break;
	case PERF_TYPE_TRACEPOINT:
		snprintf(ret, size, "unknown tracepoint");
		return;
	case PERF_TYPE_RAW:
		snprintf(ret, size, "raw 0x%llx", (unsigned long long)a->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		name_of_breakpoint(a, ret, size);
		break;
	default:
		snprintf(ret, size, "unknown attr type: %u", a->type);
		return;
	}
	add_modifiers(a, ret, size);
}
