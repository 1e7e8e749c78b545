/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/file.h"

enum { MAX_TEXT = 64 * 1024, MAX_PATH_BYTES = 4096 };

/** A file's number; all ones where there is none, or "max". */
static uint64_t limit_in(const char *path)
{
	char *text = NULL, *end;
	uint64_t v = UINT64_MAX;
	size_t size;

	if (os_read_file(path, MAX_TEXT, &text, &size, NULL))
		return UINT64_MAX;
	if (*text >= '0' && *text <= '9')
		v = strtoull(text, &end, 10);
	mem_free(text);
	return v;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** The least limit of the group @p group and those above it, down to the mount. */
static uint64_t least_of_groups(const char *root, const char *mount, const char *group, size_t len,
				const char *file)
{
	char path[MAX_PATH_BYTES];
	uint64_t v = UINT64_MAX;

	for (;;) {
		int n = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%.*s/%s", root, mount,
				 (int)len, group, file);

		if (n > 0 && (size_t)n < sizeof(path))
			v = least(v, limit_in(path));
		if (!len)
			return v;
		while (len && group[len - 1] != '/')
			len--;
		len -= len > 0; /* the slash */
	}
}

/** One line of /proc/self/cgroup: "ID:CONTROLLERS:/PATH"; version 2 has no controllers. */
static uint64_t limit_of_line(const char *root, const char *line, size_t len)
{
	const char *list = memchr(line, ':', len), *group;
	size_t rest;

	list = list ? list + 1 : NULL;
	group = list ? memchr(list, ':', len - (size_t)(list - line)) : NULL;
	if (!group)
		return UINT64_MAX;
	rest = len - (size_t)(group + 1 - line);
	rest -= rest == 1 && group[1] == '/';
	if (group == list)
		return least_of_groups(root, "", group + 1, rest, "memory.max");
	if (group - list == 6 && !memcmp(list, "memory", 6))
		return least_of_groups(root, "/memory", group + 1, rest, "memory.limit_in_bytes");
	return UINT64_MAX;
}

uint64_t os_memory_bytes_in(const char *root, uint64_t machine_bytes)
{
	uint64_t v = machine_bytes ? machine_bytes : UINT64_MAX;
	char path[MAX_PATH_BYTES], *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (!os_read_file(path, MAX_TEXT, &text, &size, NULL)) {
		for (const char *at = text; *at;) {
			size_t len = strcspn(at, "\n");

			v = least(v, limit_of_line(root, at, len));
			at += len + (at[len] == '\n');
		}
	}
	mem_free(text);
	return v == UINT64_MAX ? 0 : v;
}

uint64_t os_memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

	return os_memory_bytes_in("",
				  pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0);
}

uint64_t os_memory_share(void)
{
	uint64_t bytes = os_memory_bytes();

	return bytes ? bytes / 4 : (uint64_t)1 << 30;
}
