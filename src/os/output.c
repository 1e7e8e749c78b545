/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/create.h"
#include "os/file.h"

enum { SMALL_BYTES = 4096 };

int os_output_adopt(struct os_output *o, int fd)
{
	*o = (struct os_output){.fd = fd, .buffer = mem_alloc(OS_OUTPUT_BUFFER)};
	return o->buffer ? 0 : -ENOMEM;
}

static int adopt_created(struct os_output *o, int fd)
{
	int err;

	if (fd < 0) {
		*o = (struct os_output){.fd = -1};
		return fd;
	}
	err = os_output_adopt(o, fd);
	if (err)
		os_close(fd);
	return err;
}

static int adopt_at(struct os_output *o, int fd, const char *path, const struct os_created *c)
{
	int err = adopt_created(o, fd);

	if (err == -ENOMEM)
		os_create_undo(path, c);
	else
		o->created = *c;
	return err;
}

int os_output_create(struct os_output *o, const char *path)
{
	struct os_created created;
	int fd = os_create(path, &created);

	return adopt_at(o, fd, path, &created);
}

int os_output_create_late(struct os_output *o, const char *path)
{
	struct os_created created;
	int fd = os_create_late(path, &created);

	return adopt_at(o, fd, path, &created);
}

int os_output_create_new(struct os_output *o, const char *path)
{
	return adopt_created(o, os_create_new(path));
}

static int write_both(struct os_output *o, const void *data, size_t size)
{
	struct iovec iov[2] = {
		{o->buffer,               o->nr},
                {(void *)(uintptr_t)data, size }
        };
	struct iovec *at = iov;

	while (at < iov + 2) {
		ssize_t n = writev(o->fd, at, (int)(iov + 2 - at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		o->written_bytes += (uint64_t)n;
		for (; at < iov + 2 && (size_t)n >= at->iov_len; at++)
			n -= (ssize_t)at->iov_len;
		if (at < iov + 2) {
			at->iov_base = (char *)at->iov_base + n;
			at->iov_len -= (size_t)n;
		}
	}
	o->nr = 0;
	return 0;
}

int os_output_add(struct os_output *o, const void *data, size_t size)
{
	if (size >= SMALL_BYTES || size > OS_OUTPUT_BUFFER - o->nr)
		return write_both(o, data, size);
	memcpy(o->buffer + o->nr, data, size);
	o->nr += size;
	return 0;
}

int os_output_flush(struct os_output *o)
{
	return o->nr ? write_both(o, NULL, 0) : 0;
}

int os_output_rewrite(struct os_output *o, uint64_t offset, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = pwrite(o->fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int os_output_truncate(struct os_output *o, uint64_t size)
{
	o->nr = 0;
	if (ftruncate(o->fd, (off_t)size) || lseek(o->fd, (off_t)size, SEEK_SET) < 0)
		return -errno;
	o->written_bytes = size;
	return 0;
}

int os_output_close(struct os_output *o)
{
	int err = 0;

	if (o->fd >= 0) {
		err = o->buffer ? os_output_flush(o) : 0;
		if (close(o->fd) && !err)
			err = -errno; /* a network file system reports a full disk only here */
	}
	mem_free(o->buffer);
	*o = (struct os_output){.fd = -1};
	return err;
}

int os_output_end(struct os_output *o, const char *path, int err)
{
	struct os_created created = o->created;
	int closed;

	if (!err && created.is_nameless)
		err = os_output_flush(o);
	if (!err && created.is_nameless)
		err = os_create_name(o->fd, path, &created);
	closed = os_output_close(o);
	err = err ? err : closed;
	if (err)
		os_create_undo(path, &created);
	return err;
}

void os_output_discard(struct os_output *o, const char *path)
{
	os_output_end(o, path, -ECANCELED);
}

int os_rename(const char *from, const char *to)
{
	return rename(from, to) ? -errno : 0;
}

int os_unlink(const char *path)
{
	return unlink(path) ? -errno : 0;
}

int os_is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

bool os_is_regular_fd(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}
