/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PROC_MAP_H
#define OS_PROC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	PROC_MAP_R = 1, /* as PROT_READ, ... */
	PROC_MAP_W = 2,
	PROC_MAP_X = 4,
	PROC_MAP_SHARED = 1, /* flags, as MAP_SHARED, MAP_PRIVATE */
	PROC_MAP_PRIVATE = 2,
};

/** A line of /proc/PID/maps. */
struct proc_map {
	uint64_t start, end, offset, ino;
	uint32_t maj, min, prot, flags;
	const char *name; /* in the line; not NUL-terminated */
	size_t name_bytes;
};

/** What @p text holds becomes /proc/PID/maps, of a thread as of a process, also where the first
 * thread has ended. @return false: it cannot be read, or is empty. */
bool proc_maps_read(uint32_t pid, struct buf *text);

enum { PROC_MAP_FILE_BYTES = 96 };

/** Where the kernel shows the file that is mapped at [@p start, @p end), also replaced or deleted.
 */
void proc_map_file(char ret[PROC_MAP_FILE_BYTES], uint32_t pid, uint64_t start, uint64_t end);

/** The next mapping of the text, at *at, which moves on. @return false: the end. */
bool proc_map_next(const char **at, struct proc_map *ret);

#endif
