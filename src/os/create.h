/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_CREATE_H
#define OS_CREATE_H

#include <stdbool.h>

/** What os_create() did at a path. Zeroed: nothing. */
struct os_created {
	bool is_new;      /* a file was made there */
	bool has_moved;   /* what stood there is at PATH.old now */
	bool is_nameless; /* a file was made that os_create_name() puts there */
};

/**
 * Make the file @p path to write a result to, mode 0600, also where others may put things into its
 * directory: it is always a new file. A file or symbolic link of that name is moved to PATH.old
 * first and not followed. Only a fifo or device is written to as it is, by this name or through
 * links that are ours or root's, as /dev/stdout; a fifo that another user put into a directory open
 * to all (as /tmp) is refused. What is written to a plain file can be read back through the
 * descriptor.
 * @return the descriptor, close-on-exec, or -errno. -EACCES: see above; -EEXIST: another process
 * puts something there again and again. On failure what was moved is moved back.
 */
int os_create(const char *path, struct os_created *ret);

/** Take back what os_create() did: a file that it made is removed, and what was moved away stands
 * there again. */
void os_create_undo(const char *path, const struct os_created *c);

/**
 * os_create() for a result that is worth nothing until it is complete: the file has no name before
 * os_create_name() gives it one, and what stands at @p path stays until then, so that nothing
 * remains of it however the process ends. Where that cannot be, without /proc or on some file
 * systems, it is os_create().
 */
int os_create_late(const char *path, struct os_created *ret);

/** Once, with is_nameless. @return 0, or -errno as os_create(): then os_create_undo(). */
int os_create_name(int fd, const char *path, struct os_created *c);

/** os_create() where nothing may stand there: -EEXIST. */
int os_create_new(const char *path);

/**
 * Open a plain file of ours to append to, or make it, mode 0600. @return the descriptor,
 * close-on-exec, or -errno. -EACCES: it is another user's, or not a plain file; -ELOOP: a symbolic
 * link.
 */
int os_open_append(const char *path);

/**
 * A file without a name, to write to and read back, which is gone with its descriptor. On a disk,
 * where /var/tmp is on one. @return the descriptor, close-on-exec, or -errno.
 */
int os_create_unnamed(void);

/** A write beyond the limit of a file's size is an error (-EFBIG) from here on, not our end. */
void os_ignore_sigxfsz(void);

#endif
