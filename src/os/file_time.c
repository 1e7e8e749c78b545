/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file_time.h"

#include <errno.h>

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

int os_file_identity(const char *path, struct os_file_identity *ret)
{
	struct stat st;
	int err = os_path_stat(path, &st);

	if (err)
		return err;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = (struct os_file_identity){st.st_dev, st.st_ino, (uint64_t)st.st_size,
					 (uint64_t)st.st_mtim.tv_sec * 1000000000u +
						 (uint64_t)st.st_mtim.tv_nsec};
	return 0;
}

bool os_file_is_roots(const char *path)
{
	struct stat st;

	return !os_path_stat(path, &st) && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
}
