/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/self.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "os/file.h"
#include "os/path.h"

enum { MAPS_MAX = 16 * 1024 * 1024, STATUS_MAX = 64 * 1024 };

bool os_own_vdso(const void **ret, size_t *ret_size)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	clew_auto(mem_free_at) char *maps = NULL;
	size_t size;
	char want[32], *line, *end;

	if (!base || os_read_file("/proc/self/maps", MAPS_MAX, &maps, &size, NULL))
		return false;
	snprintf(want, sizeof(want), "%lx-", base);
	line = strstr(maps, want);
	if (!line || (line > maps && line[-1] != '\n'))
		return false;
	end = line + strlen(want);
	*ret_size = strtoul(end, NULL, 16) - base;
	/* A pointer, which the kernel gives as a number. */
	*ret = (const void *)base;
	return true;
}

void os_kernel_release(char *ret, size_t size)
{
	struct utsname u;

	snprintf(ret, size, "%s", uname(&u) ? "" : u.release);
}

uint64_t os_mnt_ns(uint32_t pid)
{
	char path[40];
	struct stat st;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/ns/mnt");
	return stat(path, &st) ? 0 : st.st_ino;
}

uint32_t os_pid_inside(uint32_t pid)
{
	clew_auto(mem_free_at) char *status = NULL;
	const char *at, *last;
	char path[40];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (os_read_file(path, STATUS_MAX, &status, &size, NULL))
		return pid;
	at = strstr(status, "\nNStgid:");
	if (!at)
		return pid;
	at += strlen("\nNStgid:");
	for (last = at; *at && *at != '\n'; at++) {
		if (*at == '\t')
			last = at + 1;
	}
	return (uint32_t)strtoul(last, NULL, 10);
}

bool os_is_regular(const char *path)
{
	struct stat st;

	return !os_path_stat(path, &st) && S_ISREG(st.st_mode);
}

bool os_is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool os_file_size(const char *path, uint64_t *ret)
{
	struct stat st;

	if (os_path_stat(path, &st))
		return false;
	*ret = (uint64_t)st.st_size;
	return true;
}
