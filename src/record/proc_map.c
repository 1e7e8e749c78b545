/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/proc_map.h"

#include <stdlib.h>

bool proc_map_parse(const char *line, const char *end, struct proc_map *ret)
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
