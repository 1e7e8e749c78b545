/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/perf_event.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Spec: Linux 7.3 include/uapi/linux/perf_event.h, "Ioctls that can be done on a perf event fd" */
#define IOC_ENABLE       _IO('$', 0)
#define IOC_DISABLE      _IO('$', 1)
#define IOC_SET_OUTPUT   _IO('$', 5)
#define IOC_SET_FILTER   _IOW('$', 6, char *)
#define IOC_ID           _IOR('$', 7, uint64_t *)
#define IOC_PAUSE_OUTPUT _IOW('$', 9, uint32_t)

enum { FD_CLOEXEC_FLAG = 1 << 3 };

int os_perf_open(const void *attr, int pid, int cpu, int group_fd, unsigned int flags)
{
	long fd;

	/* EINTR comes from a signal during the wait for an event's task. */
	do {
		fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
			     (unsigned long)(flags | FD_CLOEXEC_FLAG));
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

static int control(int fd, unsigned long request, unsigned long argument)
{
	return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

int os_perf_enable(int fd)
{
	return control(fd, IOC_ENABLE, 0);
}

int os_perf_disable(int fd)
{
	return control(fd, IOC_DISABLE, 0);
}

int os_perf_set_output(int fd, int to_fd)
{
	return control(fd, IOC_SET_OUTPUT, (unsigned long)to_fd);
}

int os_perf_set_filter(int fd, const char *filter)
{
	return control(fd, IOC_SET_FILTER, (unsigned long)filter);
}

int os_perf_pause_output(int fd, int is_paused)
{
	return control(fd, IOC_PAUSE_OUTPUT, (unsigned long)is_paused);
}

int os_perf_id(int fd, uint64_t *ret)
{
	return control(fd, IOC_ID, (unsigned long)ret);
}
