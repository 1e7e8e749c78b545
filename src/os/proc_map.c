/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/proc_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/proc.h"

enum { MAX_TEXT = 64 * 1024 * 1024 };

static bool read_maps(uint32_t pid, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	buf_clear(text);
	return os_read_into(path, MAX_TEXT, text) > 0;
}

bool proc_maps_read(uint32_t pid, struct buf *text)
{
	uint32_t living;

	if (read_maps(pid, text))
		return true;
	living = os_proc_living(pid);
	return living != pid && read_maps(living, text);
}

void proc_map_file(char ret[PROC_MAP_FILE_BYTES], uint32_t pid, uint64_t start, uint64_t end)
{
	snprintf(ret, PROC_MAP_FILE_BYTES, "/proc/%u/map_files/%llx-%llx", os_proc_living(pid),
		 (unsigned long long)start, (unsigned long long)end);
}

/* @p line up to @p end (its newline). */
static bool parse(const char *line, const char *end, struct proc_map *ret)
{
	char *p;

	ret->start = strtoull(line, &p, 16);
	if (*p++ != '-')
		return false;
	ret->end = strtoull(p, &p, 16);
	if (end - p < 6 || *p++ != ' ')
		return false;
	ret->prot = (p[0] == 'r' ? PROC_MAP_R : 0u) | (p[1] == 'w' ? PROC_MAP_W : 0u) |
		    (p[2] == 'x' ? PROC_MAP_X : 0u);
	ret->flags = p[3] == 's' ? PROC_MAP_SHARED : PROC_MAP_PRIVATE;
	ret->offset = strtoull(p + 4, &p, 16);
	ret->maj = (uint32_t)strtoul(p, &p, 16);
	if (*p++ != ':')
		return false;
	ret->min = (uint32_t)strtoul(p, &p, 16);
	ret->ino = strtoull(p, &p, 10);
	while (p < end && *p == ' ')
		p++;
	ret->name = p;
	ret->name_bytes = (size_t)(end - p);
	return p <= end;
}

bool proc_map_next(const char **at, struct proc_map *ret)
{
	const char *line, *end;

	while ((end = strchr(*at, '\n'))) {
		line = *at;
		*at = end + 1;
		if (parse(line, end, ret))
			return true;
	}
	return false;
}
