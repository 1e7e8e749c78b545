/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file_time.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "os/file.h"
#include "os/path.h"

int os_file_changed(const char *path, int64_t *ret)
{
	struct stat st;
	int err = os_path_stat(path, &st);

	if (err)
		return err;
	*ret = st.st_mtime;
	return 0;
}

static struct os_file_identity identity_of(const struct stat *st)
{
	return (struct os_file_identity){st->st_dev, st->st_ino, (uint64_t)st->st_size,
					 (uint64_t)st->st_mtim.tv_sec * 1000000000u +
						 (uint64_t)st->st_mtim.tv_nsec};
}

int os_file_identity(const char *path, struct os_file_identity *ret)
{
	struct stat st;
	int err = os_path_stat(path, &st);

	if (err)
		return err;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = identity_of(&st);
	return 0;
}

int os_fd_identity(int fd, struct os_file_identity *ret)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*ret = identity_of(&st);
	return 0;
}

static bool has_other_dev(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == OVERLAYFS_SUPER_MAGIC ||
	       fs.f_type == BTRFS_SUPER_MAGIC;
}

int os_file_node(const char *path, struct os_file_node *ret)
{
	int fd = os_open_regular(path), generation = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		os_close(fd);
		return -EIO;
	}
	*ret = (struct os_file_node){.maj = major(st.st_dev),
				     .min = minor(st.st_dev),
				     .ino = st.st_ino,
				     .has_other_dev = has_other_dev(fd),
				     .mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
						 (uint64_t)st.st_mtim.tv_nsec};
	ret->has_generation = !ioctl(fd, FS_IOC_GETVERSION, &generation);
	ret->generation = (uint32_t)generation;
	os_close(fd);
	return 0;
}

bool os_file_is_roots(const char *path)
{
	struct stat st;

	return !os_path_stat(path, &st) && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
}
