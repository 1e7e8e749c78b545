/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_OUTPUT_H
#define OS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/create.h"

/**
 * A file or pipe that is appended to. Small pieces gather in a buffer and go out together with the
 * next large one, in one writev(2); what is large is never copied.
 */
struct os_output {
	int fd; /* -1: not open */
	size_t nr;
	uint64_t written_bytes;    /* that reached the kernel */
	struct os_created created; /* at its path */
	uint8_t *buffer;
};

enum { OS_OUTPUT_BUFFER = 64 * 1024 };

/** os_create(), os_create_late() and os_create_new() (os/create.h), to append to. @return 0 or
 * -errno. */
int os_output_create(struct os_output *o, const char *path);
int os_output_create_late(struct os_output *o, const char *path);
int os_output_create_new(struct os_output *o, const char *path);

/** Close it, with its name if it has none so far; where @p err is not 0, or it cannot be flushed,
 * named or closed, take back what os_output_create() did at @p path. @return @p err, or the
 * failure. */
int os_output_end(struct os_output *o, const char *path, int err);

/** Close it, and take back what os_output_create() did at @p path. */
void os_output_discard(struct os_output *o, const char *path);

/** Take over a descriptor, such as standard output. */
int os_output_adopt(struct os_output *o, int fd);

/* Each returns 0 or -errno; after a failure part of the bytes may be in the file. */
int os_output_add(struct os_output *o, const void *data, size_t size);
int os_output_flush(struct os_output *o);

/** Overwrite at an absolute offset of a file; the append position stays. */
int os_output_rewrite(struct os_output *o, uint64_t offset, const void *data, size_t size);

/** Truncate a file to @p size bytes and continue there. */
int os_output_truncate(struct os_output *o, uint64_t size);

/** Flush and close. */
int os_output_close(struct os_output *o);

int os_rename(const char *from, const char *to);
int os_unlink(const char *path);

/** Is @p fd a pipe or socket (not a file)? */
int os_is_pipe(int fd);

bool os_is_regular_fd(int fd);

#endif
