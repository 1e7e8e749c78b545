/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/proc.h"

enum { MAX_TRIES = 64, MAX_PREFIX = 32 };

static const char proc[] = "/proc/", root_dir[] = "/root";

size_t os_path_root_bytes(const char *path)
{
	size_t at = sizeof(proc) - 1, digits;

	if (strncmp(path, proc, at) != 0)
		return 0;
	digits = strspn(path + at, "0123456789");
	at += digits;
	if (!digits || strncmp(path + at, root_dir, sizeof(root_dir) - 1) != 0)
		return 0;
	at += sizeof(root_dir) - 1;
	return path[at] == '/' && at < MAX_PREFIX ? at : 0;
}

static int open_in(int root, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned int)(flags | O_CLOEXEC),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd;

	/* EAGAIN: something was renamed meanwhile, and ".." could have left the root. */
	for (int i = 0; i < MAX_TRIES; i++) {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

static int open_again(const char *path, int flags)
{
	int fd;

	do {
		fd = open(path, flags | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static uint32_t living_of(const char *path)
{
	return os_proc_living((uint32_t)strtoul(path + sizeof(proc) - 1, NULL, 10));
}

int os_path_open(const char *path, int flags)
{
	size_t n = os_path_root_bytes(path);
	char prefix[MAX_PREFIX];
	int root, fd;

	if (!n)
		return open_again(path, flags);
	snprintf(prefix, sizeof(prefix), "%.*s", (int)n, path);
	root = open_again(prefix, O_PATH | O_DIRECTORY);
	if (root == -ENOENT) { /* its first thread may have ended */
		snprintf(prefix, sizeof(prefix), "%s%u%s", proc, living_of(path), root_dir);
		root = open_again(prefix, O_PATH | O_DIRECTORY);
	}
	if (root < 0)
		return root;
	fd = open_in(root, path + n, flags);
	close(root);
	return fd;
}

int os_path_root(uint32_t pid)
{
	char path[MAX_PREFIX];

	snprintf(path, sizeof(path), "%s%u%s", proc, os_proc_living(pid), root_dir);
	return open_again(path, O_PATH | O_DIRECTORY);
}

int os_path_open_in(int root, const char *path, int flags)
{
	return open_in(root, path, flags);
}

int os_path_stat(const char *path, struct stat *ret)
{
	int fd, err;

	if (!os_path_root_bytes(path))
		return stat(path, ret) ? -errno : 0;
	fd = os_path_open(path, O_PATH);
	if (fd < 0)
		return fd;
	err = fstat(fd, ret) ? -errno : 0;
	close(fd);
	return err;
}

bool os_has_openat2(void)
{
	int fd = open_in(AT_FDCWD, ".", O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool os_is_own_root(uint32_t pid)
{
	char path[MAX_PREFIX];
	struct stat its, ours;

	snprintf(path, sizeof(path), "/proc/%u/root", os_proc_living(pid));
	return stat(path, &its) || stat("/", &ours) ||
	       (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino);
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

int os_real_path(const char *path, char *ret, size_t size)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return -errno;
	if (strlen(real) >= size)
		return -ENAMETOOLONG;
	memcpy(ret, real, strlen(real) + 1);
	return 0;
}
