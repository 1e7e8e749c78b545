/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PID_VIEW_H
#define OS_PID_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * PID namespaces as a recorder meets them. The kernel writes ids of our namespace into records
 * (local ids); /proc has those of the namespace it was mounted for (procfs ids), which is another
 * one after `unshare --fork --pid` without --mount-proc.
 *
 * Spec: pid_namespaces(7); Linux Documentation/filesystems/proc.rst, "NSpid".
 */

enum os_pid_ns { OS_PID_NS_UNKNOWN, OS_PID_NS_INITIAL, OS_PID_NS_OTHER };

struct os_pid_view {
	bool is_own;               /* procfs ids are local ids */
	enum os_pid_ns own, procs; /* our namespace; that of /proc */
	uint64_t inode;            /* of our namespace; 0: unknown */
	uint32_t local, procfs;    /* our own ids; procfs 0: /proc does not show us */
	uint32_t depth;            /* namespaces from that of /proc, 1, to ours; 0: it is none of
				      ours */
};

/** Some reads of /proc/self. */
void os_pid_view_read(struct os_pid_view *ret);

enum { OS_PID_DEPTH_MAX = 40 }; /* the kernel has 33 at most */

/** A task's ids: in the namespace of /proc, in those below, in its own. */
struct os_ns_ids {
	uint32_t id[OS_PID_DEPTH_MAX], nr;
};

/** Out of a text of /proc/PID/status. @return false: this kernel does not say. */
bool os_ns_ids_parse(const char *status, struct os_ns_ids *ret);

/** Out of such a file. @return false also: it is gone. */
bool os_ns_ids_read(const char *path, struct os_ns_ids *ret);

/** Our id of the process that is @p procfs in /proc, or 0: our namespace does not contain it, or it
 * cannot be proven. Where the ids differ: some system calls. */
uint32_t os_pid_local(const struct os_pid_view *v, uint32_t procfs, const struct os_ns_ids *ids);

/** The id in /proc of our process @p local, or 0: it is gone, or cannot be found there. */
uint32_t os_pid_procfs(uint32_t local);

/** Is there a process or thread of that id here, be it a zombie? Needs no /proc. */
bool os_task_exists(uint32_t local);

/** Inode of the PID namespace of @p procfs; 0: unknown. */
uint64_t os_pid_ns_inode(uint32_t procfs);

#endif
