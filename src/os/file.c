/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "os/path.h"

enum { PAGE_BYTES = 4096, FIRST_READ = 16 * 1024 };

static enum clew_err map_fd(int fd, int prot, int flags, struct os_map *ret, struct clew_diag *diag)
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
	p = mmap(NULL, (size_t)st.st_size, prot, flags, fd, 0);
	if (p == MAP_FAILED)
		return clew_fail_os(diag, errno, "mmap");
	*ret = (struct os_map){p, (size_t)st.st_size};
	return CLEW_OK;
}

static enum clew_err map_file(const char *path, int prot, int flags, struct os_map *ret,
			      struct clew_diag *diag)
{
	int fd = os_open_regular(path);
	enum clew_err err;

	if (fd == -EINVAL)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0, "not a regular file");
	if (fd < 0)
		return clew_fail_os(diag, -fd, "open");
	err = map_fd(fd, prot, flags, ret, diag);
	os_close(fd);
	return err;
}

enum clew_err os_map_fd(int fd, struct os_map *ret, struct clew_diag *diag)
{
	return map_fd(fd, PROT_READ, MAP_PRIVATE, ret, diag);
}

enum clew_err os_map_file(const char *path, struct os_map *ret, struct clew_diag *diag)
{
	return map_file(path, PROT_READ, MAP_PRIVATE, ret, diag);
}

enum clew_err os_map_file_private(const char *path, struct os_map *ret, struct clew_diag *diag)
{
	return map_file(path, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, ret, diag);
}

enum clew_err os_map_file_executable(const char *path, struct os_map *ret, struct clew_diag *diag)
{
	return map_file(path, PROT_READ | PROT_EXEC, MAP_PRIVATE, ret, diag);
}

void os_map_done(struct os_map *m)
{
	if (m->data)
		munmap((void *)(uintptr_t)m->data, m->size);
	*m = (struct os_map){0};
}

void os_map_release(const struct os_map *m, size_t from, size_t to)
{
	from = (from + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	to = to / PAGE_BYTES * PAGE_BYTES;
	if (m->data && from < to && to <= m->size)
		madvise((void *)(uintptr_t)(m->data + from), to - from, MADV_DONTNEED);
}

int os_open_read(const char *path)
{
	return os_path_open(path, O_RDONLY);
}

/** To open a fifo or device may block or have effects. So the caller looks at the file first, and
 * this opens that very file. */
static int open_plain(int seen)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", seen);
	return os_path_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

int os_open_regular(const char *path)
{
	int seen = os_path_open(path, O_PATH), fd;
	struct stat st;

	if (seen < 0)
		return seen;
	if (fstat(seen, &st))
		fd = -errno;
	else
		fd = S_ISREG(st.st_mode) ? open_plain(seen) : -EINVAL;
	close(seen);
	return fd;
}

/* Closes @p seen. */
static int open_trusted(int seen, uint32_t owner)
{
	struct stat st;
	int fd;

	if (seen < 0)
		return seen;
	if (fstat(seen, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode))
		fd = -EINVAL;
	else if (owner == OS_ANY_OWNER || st.st_uid == owner || st.st_uid == geteuid() ||
		 !st.st_uid)
		fd = open_plain(seen);
	else
		fd = -EPERM;
	close(seen);
	return fd;
}

int os_open_trusted(const char *path, uint32_t owner)
{
	return open_trusted(os_path_open(path, O_PATH | O_NOFOLLOW), owner);
}

int os_open_trusted_in(int root, const char *path, uint32_t owner)
{
	return open_trusted(os_path_open_in(root, path, O_PATH | O_NOFOLLOW), owner);
}

long os_read(int fd, void *data, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, data, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

long os_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, data, size, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int os_read_all_at(int fd, void *data, size_t size, uint64_t offset)
{
	for (size_t nr = 0; nr < size;) {
		long n = os_read_at(fd, (char *)data + nr, size - nr, offset + nr);

		if (n <= 0)
			return n ? (int)n : -EIO;
		nr += (size_t)n;
	}
	return 0;
}

int os_write_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

void os_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

bool os_exists(const char *path)
{
	struct stat st;

	return !os_path_stat(path, &st);
}

long os_read_link(const char *path, char *ret, size_t size)
{
	ssize_t n = readlink(path, ret, size - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return n;
}

static uint64_t said_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

static enum clew_err read_all(int fd, size_t limit, char **text, size_t *ret_size,
			      struct clew_diag *diag)
{
	uint64_t said = said_bytes(fd);
	/* All of a file that has a size, and one more to see its end; in procfs it is 0. */
	size_t nr = 0, cap = said < FIRST_READ ? FIRST_READ : (size_t)said + 2;
	long n;

	if (said > limit)
		return clew_fail(diag, CLEW_LIMIT, limit, "file larger than expected");
	*text = mem_alloc(cap);
	while (*text) {
		n = os_read(fd, *text + nr, cap - nr - 1);
		if (n < 0)
			return clew_fail_os(diag, (int)-n, "read");
		nr += (size_t)n;
		if (nr > limit)
			return clew_fail(diag, CLEW_LIMIT, limit, "file larger than expected");
		(*text)[nr] = '\0';
		if (n == 0) {
			*ret_size = nr;
			return CLEW_OK;
		}
		if (cap - nr < 2) {
			char *more = mem_realloc_array(*text, cap, 2);

			if (!more)
				break;
			*text = more;
			cap *= 2;
		}
	}
	return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
}

enum clew_err os_read_file(const char *path, size_t limit, char **ret, size_t *ret_size,
			   struct clew_diag *diag)
{
	int fd = os_open_read(path);
	enum clew_err err;

	if (fd < 0)
		return clew_fail_os(diag, -fd, "open");
	err = os_read_fd(fd, limit, ret, ret_size, diag);
	os_close(fd);
	return err;
}

enum clew_err os_read_fd(int fd, size_t limit, char **ret, size_t *ret_size, struct clew_diag *diag)
{
	char *text = NULL;
	enum clew_err err = read_all(fd, limit, &text, ret_size, diag);

	if (err == CLEW_OK)
		*ret = text;
	else
		mem_free(text);
	return err;
}
