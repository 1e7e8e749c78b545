/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_PERF_EVENT_H
#define OS_PERF_PERF_EVENT_H

#include <stddef.h>
#include <stdint.h>

enum { /* os_perf_open() flags */
       OS_PERF_FD_OUTPUT = 1 << 1,
       OS_PERF_PID_CGROUP = 1 << 2,
};

/**
 * perf_event_open(2), close-on-exec. @p attr: bytes in the kernel's layout, as many as its size
 * field says. @p pid -1: any thread (or with OS_PERF_PID_CGROUP, a descriptor of a cgroup
 * directory); @p cpu -1: any CPU; @p group_fd -1: a group of its own.
 * @return the descriptor, or -errno.
 */
int os_perf_open(const void *attr, int pid, int cpu, int group_fd, unsigned int flags);

/* Each returns 0 or -errno. */
int os_perf_enable(int fd);
int os_perf_disable(int fd);
int os_perf_set_output(int fd, int to_fd);
int os_perf_set_filter(int fd, const char *filter);
int os_perf_pause_output(int fd, int is_paused);
int os_perf_id(int fd, uint64_t *ret);

#endif
