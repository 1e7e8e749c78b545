/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

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
	int fd;

	do {
		fd = open(path, O_RDONLY | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int os_open_regular(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	do { /* it may be another one by now */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
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
	return access(path, F_OK) == 0;
}

long os_read_link(const char *path, char *ret, size_t size)
{
	ssize_t n = readlink(path, ret, size - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return n;
}

/** All of a file that tells its size, and one more to see its end; procfs tells 0. */
static size_t first_bytes(int fd, size_t limit)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size < FIRST_READ || (uint64_t)st.st_size > limit)
		return FIRST_READ;
	return (size_t)st.st_size + 2;
}

static enum clew_err read_all(int fd, size_t limit, char **text, size_t *ret_size,
			      struct clew_diag *diag)
{
	size_t nr = 0, cap = first_bytes(fd, limit);
	long n;

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
	char *text = NULL;
	enum clew_err err;

	if (fd < 0)
		return clew_fail_os(diag, -fd, "open");
	err = read_all(fd, limit, &text, ret_size, diag);
	os_close(fd);
	if (err == CLEW_OK)
		*ret = text;
	else
		mem_free(text);
	return err;
}
