/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_CGROUP_ROOT_H
#define OS_PERF_CGROUP_ROOT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Where the hierarchy of cgroups that perf events count by is mounted: the version 1 hierarchy with
 * the perf_event controller, or else the version 2 one. @return false: neither is mounted.
 */
bool os_cgroup_root(char *ret, size_t size);

/** The same from the text of a mounts file. */
bool os_cgroup_root_of(const char *mounts, char *ret, size_t size);

#endif
