/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/pid_view.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "os/file.h"

/* Spec: Linux include/linux/proc_ns.h, "PROC_PID_INIT_INO"; include/linux/sched.h, "PF_KTHREAD". */
enum { INITIAL_PID_NS = 0xeffffffc, IS_KERNEL_THREAD = 0x00200000 };

enum { STATUS_MAX = 64 * 1024, KTHREADD = 2, FIELDS_TO_FLAGS = 6 };

bool os_ns_ids_read(const char *path, struct os_ns_ids *ret)
{
	clew_auto(mem_free_at) char *status = NULL;
	size_t size;

	return os_read_file(path, STATUS_MAX, &status, &size, NULL) == CLEW_OK &&
	       os_ns_ids_parse(status, ret);
}

bool os_ns_ids_parse(const char *status, struct os_ns_ids *ret)
{
	const char *at = strstr(status, "\nNSpid:");
	char *end;

	ret->nr = 0;
	if (!at)
		return false;
	at += strlen("\nNSpid:");
	while (*at == '\t' && ret->nr < OS_PID_DEPTH_MAX) {
		ret->id[ret->nr] = (uint32_t)strtoul(at + 1, &end, 10);
		if (end == at + 1)
			break;
		ret->nr++;
		at = end;
	}
	return ret->nr > 0;
}

/* Kernel threads are in the initial namespace alone, and kthreadd is its second task. */
static enum os_pid_ns namespace_of_procfs(void)
{
	clew_auto(mem_free_at) char *stat = NULL;
	char path[32];
	const char *at;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", KTHREADD);
	if (os_read_file(path, STATUS_MAX, &stat, &size, NULL) != CLEW_OK)
		return OS_PID_NS_UNKNOWN; /* or hidden */
	at = strrchr(stat, ')');          /* the name may hold anything */
	for (int i = 0; at && i < FIELDS_TO_FLAGS; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return OS_PID_NS_UNKNOWN;
	at = strchr(at + 1, ' ');
	return at && strtoul(at, NULL, 10) & IS_KERNEL_THREAD ? OS_PID_NS_INITIAL : OS_PID_NS_OTHER;
}

static int open_pidfd(uint32_t local)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, (int)local, 0);
#else
	(void)local;
	return -1;
#endif
}

/* Without a /proc that shows us; since Linux 6.11. Spec: include/uapi/linux/pidfd.h. */
static bool stat_own_namespace(struct stat *ret)
{
	enum { IOCTL_TYPE = 0xff, GET_PID_NAMESPACE = 5 };
	int self = open_pidfd((uint32_t)getpid()), fd;
	bool ok;

	if (self < 0)
		return false;
	fd = ioctl(self, _IO(IOCTL_TYPE, GET_PID_NAMESPACE), 0);
	ok = fd >= 0 && !fstat(fd, ret);
	os_close(fd);
	os_close(self);
	return ok;
}

static void read_own_namespace(struct os_pid_view *v)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) && !stat_own_namespace(&st))
		return;
	v->inode = st.st_ino;
	v->own = st.st_ino == INITIAL_PID_NS ? OS_PID_NS_INITIAL : OS_PID_NS_OTHER;
}

void os_pid_view_read(struct os_pid_view *ret)
{
	struct os_ns_ids ids;
	char self[32];

	*ret = (struct os_pid_view){.local = (uint32_t)getpid()};
	if (os_read_link("/proc/self", self, sizeof(self)) > 0)
		ret->procfs = (uint32_t)strtoul(self, NULL, 10);
	read_own_namespace(ret);
	if (os_ns_ids_read("/proc/self/status", &ids))
		ret->depth = ids.nr;
	/* The same number may be ours in two namespaces. */
	ret->is_own = ret->procfs == ret->local && ret->depth == 1;
	ret->procs = ret->is_own && ret->own ? ret->own : namespace_of_procfs();
}

/* The kernel resolves @p local in our namespace, and shows the process by its id in /proc. */
static uint32_t by_pidfd(uint32_t local)
{
	int fd = open_pidfd(local);
	clew_auto(mem_free_at) char *info = NULL;
	const char *at = NULL;
	char path[48];
	size_t size;
	long pid;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (os_read_file(path, STATUS_MAX, &info, &size, NULL) == CLEW_OK)
		at = strstr(info, "\nPid:");
	os_close(fd);
	pid = at ? strtol(at + strlen("\nPid:"), NULL, 10) : 0;
	return pid > 0 ? (uint32_t)pid : 0;
}

uint32_t os_pid_local(const struct os_pid_view *v, uint32_t procfs, const struct os_ns_ids *ids)
{
	uint32_t local;

	if (v->is_own)
		return procfs;
	if (!v->depth || ids->nr < v->depth)
		return 0;
	local = ids->id[v->depth - 1];
	/* A task of another namespace that is as deep has a number there, too. */
	return by_pidfd(local) == procfs ? local : 0;
}

uint32_t os_pid_procfs(uint32_t local)
{
	struct os_ns_ids ids;
	char self[32];

	if (os_read_link("/proc/self", self, sizeof(self)) > 0 &&
	    strtoul(self, NULL, 10) == (unsigned long)getpid() &&
	    os_ns_ids_read("/proc/self/status", &ids) && ids.nr == 1)
		return local;
	return by_pidfd(local);
}

bool os_task_exists(uint32_t local)
{
	return local && local <= INT_MAX && (!kill((pid_t)local, 0) || errno == EPERM);
}

uint64_t os_pid_ns_inode(uint32_t procfs)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", procfs);
	return stat(path, &st) ? 0 : st.st_ino;
}
