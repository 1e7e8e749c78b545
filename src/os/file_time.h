/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_FILE_TIME_H
#define OS_FILE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/** When the file's content last changed, in seconds since 1970. @return 0 or -errno. */
int os_file_changed(const char *path, int64_t *ret);

/** Which file it is, and which content: another file, or a changed one, differs in some of this. */
struct os_file_identity {
	uint64_t dev, ino, size, mtime_ns; /* nanoseconds since 1970 */
};

/** Of a regular file. @return 0 or -errno. */
int os_file_identity(const char *path, struct os_file_identity *ret);

/** A file as records of mappings name it, by the kernel's device and inode. */
struct os_file_node {
	uint64_t maj, min, ino;
	uint64_t generation; /* of the inode: its number is given to the next file */
	bool has_generation; /* the file system says it */
	bool has_other_dev;  /* stat(2) may give another device and inode than records of mappings:
				overlayfs, btrfs */
	uint64_t mtime_ns;   /* since 1970 */
};

/** Of a regular file. @return 0 or -errno. */
int os_file_node(const char *path, struct os_file_node *ret);

/** The same of an open file of any kind. */
int os_fd_identity(int fd, struct os_file_identity *ret);

/** May only root change the file's content? Others could cut it while it is mapped. */
bool os_file_is_roots(const char *path);

#endif
