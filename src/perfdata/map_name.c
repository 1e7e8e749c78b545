/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/map_name.h"

#include <stddef.h>
#include <string.h>

enum { MAP_HUGETLB_FLAG = 0x40000 };

static bool starts_with_any(const char *path, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

bool map_name_is_anonymous(const char *path, uint32_t flags)
{
	static const char *const names[] = {"//anon", "/dev/zero", "/anon_hugepage"};

	return flags & MAP_HUGETLB_FLAG ||
	       starts_with_any(path, names, sizeof(names) / sizeof(*names));
}

bool map_name_may_be_made(const char *path)
{
	static const char *const names[] = {"[heap]",    "/SYSV",  "/memfd:",     "/dev/hugepages/",
					    "/dev/shm/", "[anon:", "[anon_shmem:"};
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), suffix = sizeof(deleted) - 1;

	return !*path || starts_with_any(path, names, sizeof(names) / sizeof(*names)) ||
	       (len > suffix && !strcmp(path + len - suffix, deleted));
}
