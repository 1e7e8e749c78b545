/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "live/event_open.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t event_syscall_enter_id(void)
{
	FILE *f = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "r");
	unsigned long long id = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu", &id) != 1)
		id = 0;
	fclose(f);
	return id;
}

int event_open(enum run_event e, int pid, int cpu, uint64_t freq)
{
	static const uint64_t config[] = {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
					  PERF_COUNT_SW_CONTEXT_SWITCHES};
	struct perf_event_attr a = {.size = sizeof(a),
				    .type = PERF_TYPE_SOFTWARE,
				    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				    .disabled = 1,
				    .inherit = 1,
				    .freq = freq != 0,
				    .sample_freq = freq ? freq : 1};
	int fd;

	if (e == RUN_SYSCALL_ENTER) {
		a.type = PERF_TYPE_TRACEPOINT;
		a.config = event_syscall_enter_id();
	} else {
		a.config = config[e];
	}
	fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, 0);
	return fd < 0 ? -errno : fd;
}

void event_enable(int fd, bool is_on)
{
	ioctl(fd, is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}
