/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_CAPS_H
#define OS_CAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of <linux/capability.h> that profiling asks for. */
enum os_cap {
	OS_CAP_DAC_READ_SEARCH = 2,
	OS_CAP_IPC_LOCK = 14,
	OS_CAP_SYS_PTRACE = 19,
	OS_CAP_SYS_ADMIN = 21,
	OS_CAP_SYSLOG = 34,
	OS_CAP_PERFMON = 38,
	OS_CAP_BPF = 39,
};

enum { OS_PARANOID_UNKNOWN = -100 };

/** What this process may do. */
struct os_caps {
	uint64_t effective; /* bit per capability; 0 in a user namespace: its own do not count */
	uint32_t uid;       /* effective */
	int paranoid;       /* kernel.perf_event_paranoid; OS_PARANOID_UNKNOWN: not readable */
	uint64_t memlock_bytes;  /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
	uint64_t nr_files;       /* RLIMIT_NOFILE */
	uint64_t nr_files_hard;  /* what it may be raised to */
	uint64_t mlock_kb;       /* kernel.perf_event_mlock_kb */
	uint32_t seccomp;        /* 0: none, 1: strict, 2: filter */
	bool is_initial_pid_ns;  /* pids mean what they mean to the kernel */
	bool is_initial_user_ns; /* capabilities count for perf_event_open() */
	bool is_container;       /* in a PID namespace of its own, with a mark of who made it */
	const char *container;   /* the mark, static: "docker", "systemd-nspawn", ...; "" */
};

void os_caps_read(struct os_caps *ret);

static inline bool os_caps_has(const struct os_caps *c, enum os_cap cap)
{
	return c->effective >> cap & 1;
}

/** CAP_PERFMON, or CAP_SYS_ADMIN as before Linux 5.8. */
bool os_caps_is_perfmon(const struct os_caps *c);

/** May it load BPF programs that read what it profiles? */
bool os_caps_may_load_bpf(const struct os_caps *c);

/** May events count in the kernel (paranoid below 2, or privileged)? */
bool os_caps_can_profile_kernel(const struct os_caps *c);

/** A number in /proc/sys, such as "kernel/kptr_restrict". */
bool os_sysctl(const char *name, int64_t *ret);

/** Who owns process or thread @p pid; false: it is gone. */
bool os_process_uid(int pid, uint32_t *ret);

#endif
