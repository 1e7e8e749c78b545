/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_FILE_H
#define OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

/** A file's bytes, mapped read-only. Zeroed struct = nothing mapped. */
struct os_map {
	const uint8_t *data; /* NULL for an empty file */
	size_t size;
};

/**
 * Map all of a regular file. Where the file shrinks while mapped, a read past its new end is
 * SIGBUS, or zeros after os_map_guard(): libraries that read files others may truncate use
 * os_read_file().
 * @return CLEW_OS with errno; CLEW_UNSUPPORTED: not a regular file (pipe, directory, device).
 */
enum clew_err os_map_file(const char *path, struct os_map *ret, struct clew_diag *diag);
enum clew_err os_map_fd(int fd, struct os_map *ret, struct clew_diag *diag);
/**
 * os_map_file(), writable: what is written stays in this process. For libraries that change the
 * image they are given, as libelf does when it unpacks sections. Ends with os_map_done().
 */
enum clew_err os_map_file_private(const char *path, struct os_map *ret, struct clew_diag *diag);

/** os_map_file(), executable: to make the file known as mapped code, not to run it. */
enum clew_err os_map_file_executable(const char *path, struct os_map *ret, struct clew_diag *diag);

void os_map_done(struct os_map *m);

/** Drop [from, to) of the mapping from our memory: it will not be read again soon. */
void os_map_release(const struct os_map *m, size_t from, size_t to);

/**
 * Read a whole file of unknown size (procfs, sysfs) into heap memory with a NUL after the bytes,
 * not counted.
 * @p limit: CLEW_LIMIT where the file is larger. The caller frees *ret with mem_free().
 */
enum clew_err os_read_file(const char *path, size_t limit, char **ret, size_t *ret_size,
			   struct clew_diag *diag);

/** The same of an open file, from where it stands. */
enum clew_err os_read_fd(int fd, size_t limit, char **ret, size_t *ret_size,
			 struct clew_diag *diag);

/* Paths below another process's root: see os/path.h. */

/** Open for reading, close-on-exec. @return the descriptor, or -errno. */
int os_open_read(const char *path);

/** The same for a path that others name: never waits, as a FIFO without a writer would have it.
 * @return -EINVAL: not a regular file. */
int os_open_regular(const char *path);

#define OS_ANY_OWNER UINT32_MAX

/** The same for a file that must be ours, root's or @p owner's (0: no one else's; OS_ANY_OWNER),
 * and no symbolic link: others could have planted it in /tmp.
 * @return -EPERM: it belongs to another user. */
int os_open_trusted(const char *path, uint32_t owner);

/** The same inside the directory @p root (os_path_root()). */
int os_open_trusted_in(int root, const char *path, uint32_t owner);

/** Up to @p size bytes; restarts after signals. @return bytes read, 0 at the end, or -errno. */
long os_read(int fd, void *data, size_t size);

/** The same from an absolute offset; the descriptor's position stays. */
long os_read_at(int fd, void *data, size_t size, uint64_t offset);

/** All of @p size bytes from there. @return 0 or -errno; -EIO: the file is shorter. */
int os_read_all_at(int fd, void *data, size_t size, uint64_t offset);

/** All of @p size bytes; restarts after signals. @return 0 or -errno. */
int os_write_all(int fd, const void *data, size_t size);

void os_close(int fd);

/** Does @p path exist (for us)? */
bool os_exists(const char *path);

/** Target of a symbolic link, NUL-terminated. @return length without the NUL, or -errno. */
long os_read_link(const char *path, char *ret, size_t size);

#endif
