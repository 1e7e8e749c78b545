/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PATH_H
#define OS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A path of the form "/proc/PID/root/..." means a file as process PID has it, in its own mount
 * namespace or root directory. The kernel would resolve an absolute symbolic link on the way in our
 * root, to a file that the process chose and cannot read itself: these functions, and with them all
 * of os/file.h that takes a path, resolve such a path inside the process's root (openat2(2) with
 * RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS), or not at all.
 */

/** open(2) for reading, or with O_PATH; close-on-exec, restarts after signals. @return the
 * descriptor, or -errno; -ENOSYS: below another process's root, and there is no openat2. */
int os_path_open(const char *path, int flags);

/** The root directory of @p pid, which stays when the process ends. @return it, or -errno. */
int os_path_root(uint32_t pid);

/** os_path_open() of @p path inside such a directory. */
int os_path_open_in(int root, const char *path, int flags);

/** stat(2). @return 0 or -errno, as above. */
int os_path_stat(const char *path, struct stat *ret);

/** @p path from the root, without symbolic links, in @p ret of @p size bytes. @return 0; -errno:
 * it does not exist, or does not fit. */
int os_real_path(const char *path, char *ret, size_t size);

/** How many bytes of @p path are the "/proc/PID/root" before a slash; 0: none. */
size_t os_path_root_bytes(const char *path);

/** Does openat2 work here? Linux has it since 5.6; filters of containers may refuse it. */
bool os_has_openat2(void);

/** Is the root directory of @p pid ours? True also where it cannot be seen. */
bool os_is_own_root(uint32_t pid);

/** Is there a regular file? Opening other things may block, or do something. */
bool os_is_regular(const char *path);
bool os_is_directory(const char *path);

#endif
