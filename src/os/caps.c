/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/file.h"

/* Inode numbers that the kernel gives the first namespaces. Spec: Linux
 * include/uapi/linux/nsfs.h, "init namespaces". */
enum { INITIAL_PID_NS = 0xeffffffc, INITIAL_USER_NS = 0xeffffffd };

bool os_sysctl(const char *name, int64_t *ret)
{
	struct arena a = {0};
	char path[256], *end;
	const char *text = NULL;

	if (snprintf(path, sizeof(path), "/proc/sys/%s", name) < (int)sizeof(path))
		text = os_read_line(path, &a);
	if (text) {
		*ret = strtoll(text, &end, 10);
		if (end == text)
			text = NULL;
	}
	arena_done(&a);
	return text;
}

/* "Name:\tvalue" of /proc/self/status */
static uint64_t status_field(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static bool is_namespace(const char *path, ino_t inode)
{
	struct stat st;

	/* A kernel without such namespaces has only the first. */
	return stat(path, &st) || st.st_ino == inode;
}

static const char *container_of(struct arena *a)
{
	const char *cgroup;

	if (os_exists("/.dockerenv"))
		return "docker";
	if (os_exists("/run/.containerenv"))
		return "podman";
	if (os_exists("/run/host/container-manager"))
		return "systemd-nspawn";
	cgroup = os_read_line("/proc/1/cgroup", a);
	if (!cgroup)
		return "";
	if (strstr(cgroup, "kubepods"))
		return "kubernetes";
	if (strstr(cgroup, "docker"))
		return "docker";
	return strstr(cgroup, "lxc") ? "lxc" : "";
}

static uint64_t limit_of(rlim_t v)
{
	return v == RLIM_INFINITY ? UINT64_MAX : v;
}

static void read_limits(struct os_caps *c)
{
	struct rlimit r;
	int64_t v;

	if (getrlimit(RLIMIT_MEMLOCK, &r) == 0)
		c->memlock_bytes = limit_of(r.rlim_cur);
	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		c->nr_files = limit_of(r.rlim_cur);
		c->nr_files_hard = limit_of(r.rlim_max);
	}
	c->paranoid = os_sysctl("kernel/perf_event_paranoid", &v) ? (int)v : OS_PARANOID_UNKNOWN;
	c->mlock_kb = os_sysctl("kernel/perf_event_mlock_kb", &v) && v > 0 ? (uint64_t)v : 0;
}

void os_caps_read(struct os_caps *ret)
{
	struct arena a = {0};
	const char *status = os_read_line("/proc/self/status", &a);

	*ret = (struct os_caps){.uid = (uint32_t)geteuid()};
	if (status) {
		ret->effective = status_field(status, "CapEff:", 16);
		ret->seccomp = (uint32_t)status_field(status, "\nSeccomp:", 10);
	}
	ret->is_initial_pid_ns = is_namespace("/proc/self/ns/pid", INITIAL_PID_NS);
	ret->is_initial_user_ns = is_namespace("/proc/self/ns/user", INITIAL_USER_NS);
	/* perf_event_open(), bpf() and mlock limits ask for those of the first namespace. */
	if (!ret->is_initial_user_ns)
		ret->effective = 0;
	ret->container = container_of(&a);
	/* Virtual machines made from container images keep the images' marks, but are in the
	 * initial PID namespace. */
	ret->is_container = *ret->container && !ret->is_initial_pid_ns;
	read_limits(ret);
	arena_done(&a);
}

bool os_caps_is_perfmon(const struct os_caps *c)
{
	return os_caps_has(c, OS_CAP_PERFMON) || os_caps_has(c, OS_CAP_SYS_ADMIN);
}

bool os_caps_may_load_bpf(const struct os_caps *c)
{
	return os_caps_has(c, OS_CAP_SYS_ADMIN) ||
	       (os_caps_has(c, OS_CAP_BPF) && os_caps_has(c, OS_CAP_PERFMON));
}

bool os_caps_can_profile_kernel(const struct os_caps *c)
{
	return os_caps_is_perfmon(c) || (c->paranoid != OS_PARANOID_UNKNOWN && c->paranoid < 2);
}

bool os_process_uid(int pid, uint32_t *ret)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st))
		return false;
	*ret = st.st_uid;
	return true;
}
