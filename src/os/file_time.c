/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file_time.h"

#include <errno.h>
#include <sys/stat.h>

int os_file_changed(const char *path, int64_t *ret)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	*ret = st.st_mtime;
	return 0;
}
