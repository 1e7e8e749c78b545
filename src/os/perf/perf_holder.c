/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/perf_holder.h"

#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/proc.h"

static bool holds_events(int pid)
{
	uint32_t living = os_proc_living((uint32_t)pid);
	char path[64], link[64];
	struct os_dir *d;
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/fd", living);
	d = os_dir_open(path, NULL);
	if (!d)
		return false;
	while (!found && (fd = os_dir_next_number(d)) >= 0) {
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", living, fd);
		found = os_read_link(path, link, sizeof(link)) >= 0 &&
			!strcmp(link, "anon_inode:[perf_event]");
	}
	os_dir_close(d);
	return found;
}

bool os_perf_holder_find(struct os_perf_holder *ret)
{
	struct os_dir *d = os_dir_open("/proc", NULL);
	char path[64];
	int pid;

	*ret = (struct os_perf_holder){0};
	while (d && !ret->pid && (pid = os_dir_next_number(d)) >= 0) {
		if (pid == os_pid() || !holds_events(pid))
			continue;
		ret->pid = pid;
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (!os_read_first_line(path, ret->name, sizeof(ret->name)))
			ret->name[0] = '\0';
	}
	if (d)
		os_dir_close(d);
	return ret->pid;
}
