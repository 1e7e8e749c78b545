/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_SELF_H
#define OS_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The vDSO mapped into this process. @return false: there is none. */
bool os_own_vdso(const void **ret, size_t *ret_size);

/** Release of the running kernel, as `uname -r`; "" where the kernel does not say. */
void os_kernel_release(char *ret, size_t size);

/** Inode of the mount namespace of @p pid (0: ourselves); 0: unknown. */
uint64_t os_mnt_ns(uint32_t pid);

/** @p pid's number in its own PID namespace; @p pid where it has no other. */
uint32_t os_pid_inside(uint32_t pid);

/** Is there a regular file? Opening other things may block, or do something. */
bool os_is_regular(const char *path);
bool os_is_directory(const char *path);

/** Size of a file in bytes; false: no such file. */
bool os_file_size(const char *path, uint64_t *ret);

#endif
