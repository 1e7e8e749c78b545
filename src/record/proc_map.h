/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PROC_MAP_H
#define RECORD_PROC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROC_MAP_R = 1, /* as PROT_READ, ... */
	PROC_MAP_W = 2,
	PROC_MAP_X = 4,
	PROC_MAP_SHARED = 1, /* flags, as MAP_SHARED, MAP_PRIVATE */
	PROC_MAP_PRIVATE = 2,
	PROC_MAPS_LIMIT = 64 * 1024 * 1024, /* bytes of one process's maps that are read */
};

/** A line of /proc/PID/maps. */
struct proc_map {
	uint64_t start, end, offset, ino;
	uint32_t maj, min, prot, flags;
	const char *name; /* in the line; not NUL-terminated */
	size_t name_bytes;
};

/** @p line up to @p end (its newline). @return false: not such a line. */
bool proc_map_parse(const char *line, const char *end, struct proc_map *ret);

#endif
