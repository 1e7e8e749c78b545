/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_impl.h"

void who_map_init(struct who_map *ret, const struct perf_mmap *mm)
{
	ret->start = mm->start;
	ret->end = mm->start + mm->len;
	ret->pgoff = mm->pgoff;
	ret->prot = mm->prot;
	ret->flags = mm->flags;
	ret->maj = mm->maj;
	ret->min = mm->min;
	ret->ino = mm->ino;
	ret->ino_generation = mm->ino_generation;
	ret->pid = mm->pid;
	ret->build_id_bytes = mm->has_build_id ? mm->build_id_bytes : 0;
	memcpy(ret->build_id, mm->build_id, sizeof(ret->build_id));
}

bool who_map_cut(struct who_map **at, struct who_map *into, uint64_t start, uint64_t end)
{
	if (!into)
		return false;
	*into = **at;
	into->start = start;
	into->end = end;
	into->pgoff += start - (*at)->start;
	*at = into;
	return true;
}
