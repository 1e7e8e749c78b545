/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_private.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"

static enum clew_err map_fd(int fd, struct os_map *ret, struct clew_diag *diag)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return clew_fail_os(diag, errno, "fstat");
	if (!S_ISREG(st.st_mode))
		return clew_fail(diag, CLEW_UNSUPPORTED, 0, "not a regular file");
	if (st.st_size == 0) {
		*ret = (struct os_map){0};
		return CLEW_OK;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
		 0);
	if (p == MAP_FAILED)
		return clew_fail_os(diag, errno, "mmap");
	*ret = (struct os_map){p, (size_t)st.st_size};
	return CLEW_OK;
}

enum clew_err os_map_file_private(const char *path, struct os_map *ret, struct clew_diag *diag)
{
	int fd = os_open_read(path);
	enum clew_err err;

	if (fd < 0)
		return clew_fail_os(diag, -fd, "open");
	err = map_fd(fd, ret, diag);
	os_close(fd);
	return err;
}
