/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/create.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MODE = 0600, MAX_LINKS = 16, MAX_TRIES = 8, FD_PATH_BYTES = 32 };

static int open_again(const char *path, int flags, mode_t mode)
{
	int fd;

	do {
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int os_create_new(const char *path)
{
	return open_again(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, MODE);
}

int os_open_append(const char *path)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = open(path, flags | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EACCES;
}

int os_create_unnamed(void)
{
	int fd = open_again("/var/tmp", O_TMPFILE | O_EXCL | O_RDWR, MODE);

	return fd < 0 ? open_again("/tmp", O_TMPFILE | O_EXCL | O_RDWR, MODE) : fd;
}

static void path_of_fd(int fd, char ret[FD_PATH_BYTES])
{
	snprintf(ret, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/** The very object that was looked at, whatever has its name by now. A fifo opened for both would
 * never report that its reader has gone. */
static int open_seen(int seen, const struct stat *st)
{
	char path[FD_PATH_BYTES];

	path_of_fd(seen, path);
	return open_again(path, S_ISREG(st->st_mode) ? O_RDWR | O_TRUNC : O_WRONLY, 0);
}

static size_t dir_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/** The directory of @p path. @return false: its name is too long. */
static bool dir_of(const char *path, char ret[PATH_MAX])
{
	size_t size = dir_bytes(path);

	return (size_t)snprintf(ret, PATH_MAX, "%.*s", size ? (int)size : 1, size ? path : ".") <
	       PATH_MAX;
}

/** What fs.protected_fifos asks of a fifo that is opened with O_CREAT. */
static bool is_planted(const char *path, const struct stat *st)
{
	char dir[PATH_MAX];
	struct stat at;

	if (!S_ISFIFO(st->st_mode) || st->st_uid == geteuid())
		return false;
	return !dir_of(path, dir) || stat(dir, &at) ||
	       (at.st_mode & S_ISVTX && at.st_mode & (S_IWOTH | S_IWGRP) &&
		at.st_uid != st->st_uid);
}

/** /proc/self/fd/1: what it leads to has no path. */
static int open_magic(const char *path)
{
	struct stat st;
	int fd = open_again(path, O_PATH, 0), ret;

	if (fd < 0)
		return fd;
	ret = fstat(fd, &st) ? -errno : open_seen(fd, &st);
	close(fd);
	return ret;
}

/** Replace @p path, a link as seen by @p fd, by the path of its target. @return 0: continue there;
 * -ENOENT: leave it. */
static int follow(int fd, char path[PATH_MAX], const struct stat *st)
{
	char target[PATH_MAX];
	size_t dir = dir_bytes(path);
	ssize_t n;

	if (st->st_uid != geteuid() && st->st_uid != 0)
		return -ENOENT;
	n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		return -errno;
	if (target[0] == '/')
		dir = 0;
	if (dir + (size_t)n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path + dir, target, (size_t)n);
	path[dir + (size_t)n] = '\0';
	return 0;
}

static bool is_magic(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/** One step on the way to a device, fifo or the like. @return the descriptor; -ENOENT: there is
 * none; -EAGAIN: continue at the changed @p path. */
static int step(char path[PATH_MAX])
{
	int fd = open_again(path, O_PATH | O_NOFOLLOW, 0), ret;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		ret = -errno;
	else if (S_ISLNK(st.st_mode) && is_magic(fd))
		ret = open_magic(path);
	else if (S_ISLNK(st.st_mode))
		ret = follow(fd, path, &st) ?: -EAGAIN;
	else if (S_ISREG(st.st_mode))
		ret = -ENOENT;
	else if (S_ISDIR(st.st_mode))
		ret = -EISDIR;
	else
		ret = is_planted(path, &st) ? -EACCES : open_seen(fd, &st);
	close(fd);
	return ret;
}

/** A fifo or device at @p path, or where links of ours or root's lead. @return -ENOENT: none. */
static int open_special(const char *path)
{
	char at[PATH_MAX];
	int fd = -EAGAIN;

	if ((size_t)snprintf(at, sizeof(at), "%s", path) >= sizeof(at))
		return -ENAMETOOLONG;
	for (int i = 0; fd == -EAGAIN && i < MAX_LINKS; i++)
		fd = step(at);
	return fd == -EAGAIN ? -ENOENT : fd;
}

static int move_away(const char *path, struct os_created *c)
{
	char old[PATH_MAX];

	if ((size_t)snprintf(old, sizeof(old), "%s.old", path) >= sizeof(old))
		return -ENAMETOOLONG;
	if (rename(path, old))
		return errno == ENOENT ? 0 : -errno;
	c->has_moved = true;
	return 0;
}

void os_create_undo(const char *path, const struct os_created *c)
{
	char old[PATH_MAX];

	if (c->is_new)
		unlink(path);
	if (c->has_moved && (size_t)snprintf(old, sizeof(old), "%s.old", path) < sizeof(old))
		rename(old, path);
}

static int name_it(int fd, const char *path)
{
	char from[FD_PATH_BYTES];

	path_of_fd(fd, from);
	return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/** A new file, or where it is not -1, the one without a name that @p nameless is. */
static int make(const char *path, int nameless, struct os_created *c)
{
	int ret = -EEXIST, err = 0;

	for (int i = 0; i < MAX_TRIES && !err && ret == -EEXIST; i++) {
		ret = nameless < 0 ? os_create_new(path) : name_it(nameless, path);
		if (ret == -EEXIST)
			err = move_away(path, c);
	}
	c->is_new = ret >= 0;
	if (!err && ret == -EEXIST)
		c->has_moved = false; /* another process put something there meanwhile: it stays */
	return err ? err : ret;
}

int os_create(const char *path, struct os_created *ret)
{
	int fd = open_special(path);

	*ret = (struct os_created){0};
	if (fd != -ENOENT)
		return fd;
	fd = make(path, -1, ret);
	if (fd < 0)
		os_create_undo(path, ret);
	return fd;
}

/** Without /proc there is no way to name a file later. */
static bool can_be_named(int fd)
{
	char path[FD_PATH_BYTES];

	path_of_fd(fd, path);
	return !access(path, F_OK);
}

/** In the directory of @p path, to be named later. @return -errno: not every system can. */
static int open_nameless(const char *path)
{
	char dir[PATH_MAX];
	int fd;

	if (!dir_of(path, dir))
		return -ENAMETOOLONG;
	fd = open_again(dir, O_TMPFILE | O_RDWR, MODE);
	if (fd < 0 || can_be_named(fd))
		return fd;
	close(fd);
	return -ENOTSUP;
}

int os_create_late(const char *path, struct os_created *ret)
{
	int fd = open_special(path);

	*ret = (struct os_created){0};
	if (fd != -ENOENT)
		return fd;
	fd = open_nameless(path);
	if (fd < 0)
		return os_create(path, ret);
	ret->is_nameless = true;
	return fd;
}

int os_create_name(int fd, const char *path, struct os_created *c)
{
	int err = make(path, fd, c);

	c->is_nameless = false;
	return err;
}

void os_ignore_sigxfsz(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGXFSZ, &ignore, NULL);
}
