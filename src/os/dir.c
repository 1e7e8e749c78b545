/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "os/file.h"

enum { MAX_NAMES = 100000, MAX_LINE_FILE = 1 << 20 };

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static enum clew_err read_names(DIR *dir, struct arena *arena, struct os_names *ret,
				struct clew_diag *diag)
{
	for (struct dirent *d; ret->nr < MAX_NAMES && (d = readdir(dir));) {
		const char *name;

		if (is_dot(d->d_name))
			continue;
		name = arena_strndup(arena, d->d_name, strlen(d->d_name));
		if (!name || !vec_push(ret, name))
			return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	}
	return CLEW_OK;
}

enum clew_err os_dir_names(const char *path, struct arena *arena, struct os_names *ret,
			   struct clew_diag *diag)
{
	size_t first = ret->nr;
	DIR *dir = opendir(path);
	enum clew_err err;

	if (!dir)
		return clew_fail_os(diag, errno, "opendir");
	err = read_names(dir, arena, ret, diag);
	closedir(dir);
	if (ret->nr > first)
		qsort(ret->data + first, ret->nr - first, sizeof(*ret->data), by_name);
	return err;
}

const char *os_read_line(const char *path, struct arena *arena)
{
	char *text;
	const char *copy;
	size_t n;

	if (os_read_file(path, MAX_LINE_FILE, &text, &n, NULL))
		return NULL;
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	copy = arena_strndup(arena, text, n);
	mem_free(text);
	return copy;
}

int os_dir_make(const char *path)
{
	clew_auto(mem_free_at) char *p = mem_strdup(path);

	if (!p)
		return -ENOMEM;
	for (char *slash = p; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(p, 0700) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(p, 0700) && errno != EEXIST ? -errno : 0;
}

bool os_dir_is_private(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_own_step(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (!(st.st_mode & S_IWOTH) || st.st_mode & S_ISVTX);
}

bool os_dir_has_own_way(const char *path)
{
	clew_auto(mem_free_at) char *there = mem_strdup(path);
	char real[PATH_MAX];

	if (!there || path[0] != '/')
		return false;
	while (!realpath(there, real)) { /* what is missing would be made by us */
		char *slash = strrchr(there, '/');

		if (errno != ENOENT || !slash)
			return false;
		slash[slash == there] = '\0';
	}
	for (char *slash = real; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (!is_own_step(real))
			return false;
		*slash = '/';
	}
	return is_own_step("/") && is_own_step(real);
}
