/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

#include <stdint.h>

/**
 * Bytes of memory that this process can have at most: the machine's, or less where its control
 * groups (version 1 or 2) have a limit. 0: unknown.
 */
uint64_t os_memory_bytes(void);

/** Tests: the same with @p root before the paths /proc/... and /sys/fs/cgroup, and a machine that
 * has @p machine_bytes. */
uint64_t os_memory_bytes_in(const char *root, uint64_t machine_bytes);

/** What one command may take of it by default: a quarter; 1 GiB where it is unknown. */
uint64_t os_memory_share(void);

#endif
