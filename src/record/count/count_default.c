/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/count/count_default.h"

#include "os/perf/pmu.h"

/* Each line is perf's for so many -d, beside those before it. */
static const char *const details[] = {
	",L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	",L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,"
	"iTLB-load-misses",
	",L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

/* Where kinds of cores differ, no PMU has this name, and none of these. */
static void add_of_cpu(struct os_pmus *pmus, struct buf *out)
{
	const struct os_pmu *cpu = os_pmus_find(pmus, "cpu", 3);

	if (cpu && os_pmu_has(cpu, "events/stalled-cycles-frontend"))
		buf_str(out, ",stalled-cycles-frontend");
	if (cpu && os_pmu_has(cpu, "events/stalled-cycles-backend"))
		buf_str(out, ",stalled-cycles-backend");
	if (cpu && os_pmu_has(cpu, "events/slots") && os_pmu_has(cpu, "events/topdown-retiring"))
		buf_str(out, ",{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,"
			     "topdown-be-bound}");
}

void count_default_events(const char *sysfs, bool is_wide, unsigned int detail, struct buf *out)
{
	struct os_pmus pmus = {0};

	buf_str(out, is_wide ? "cpu-clock" : "task-clock");
	buf_str(out, ",context-switches,cpu-migrations,page-faults,cycles,instructions,branches,"
		     "branch-misses");
	if (os_pmus_read(sysfs, &pmus, NULL) == CLEW_OK)
		add_of_cpu(&pmus, out);
	os_pmus_done(&pmus);
	for (unsigned int i = 0; i < detail && i < sizeof(details) / sizeof(*details); i++)
		buf_str(out, details[i]);
}
