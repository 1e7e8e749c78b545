/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/path.h"
#include "tap.h"

/* Around the size of the first read, and with or without a size from the file. */
static void test_read_whole(const char *path)
{
	static const size_t sizes[] = {0, 1, 16382, 16383, 16384, 16385, 16386, 100000};
	static char bytes[100000];
	char *text;
	size_t size;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];
		int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
		bool ok = fd >= 0 && write(fd, bytes, n) == (ssize_t)n;

		close(fd);
		ok = ok && !os_read_file(path, n, &text, &size, NULL);
		CHECK(ok && size == n && !memcmp(text, bytes, n) && !text[n], "%zu bytes", n);
		free(ok ? text : NULL);
		CHECK(!n || os_read_file(path, n - 1, &text, &size, NULL) == CLEW_LIMIT,
		      "and no more than the limit");
	}
	unlink(path);
	CHECK(!os_read_file("/proc/self/maps", SIZE_MAX, &text, &size, NULL) && size,
	      "a file that reports no size");
	free(text);
}

static void test_read_all_at(const char *path)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	char text[8] = "";

	CHECK(write(fd, "0123456789", 10) == 10, "ten bytes");
	CHECK_EQ(os_read_all_at(fd, text, 7, 3), 0, "all from an offset");
	CHECK(!memcmp(text, "3456789", 7), "are those");
	CHECK_EQ(os_read_all_at(fd, text, 8, 3), -EIO, "one more than there are");
	close(fd);
	CHECK_EQ(os_read_all_at(-1, text, 1, 0), -EBADF, "no file");
	unlink(path);
}

/* What others may put into /tmp. */
static void test_trusted(const char *dir)
{
	char path[64], link[64];
	int fd;

	snprintf(path, sizeof(path), "%s/map", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	CHECK_EQ(os_open_trusted(path, 0), -ENOENT, "missing");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	fd = os_open_trusted(path, 0);
	CHECK(fd >= 0 && fcntl(fd, F_GETFL) & O_NONBLOCK, "our own file is trusted");
	close(fd);
	CHECK(!symlink(path, link), "a link to it");
	CHECK_EQ(os_open_trusted(link, OS_ANY_OWNER), -EINVAL, "is not followed");
	unlink(link);
	CHECK(!mkfifo(link, 0600), "a FIFO");
	CHECK_EQ(os_open_trusted(link, OS_ANY_OWNER), -EINVAL, "is not opened");
	unlink(link);
	if (chown(path, 65534, 65534)) {
		SKIP("only root can give files away");
	} else {
		CHECK_EQ(os_open_trusted(path, 0), -EPERM, "another user's file is not trusted");
		fd = os_open_trusted(path, 65534);
		CHECK(fd >= 0, "but where it is that user's matter");
		close(fd);
	}
	unlink(path);
}

/* Paths below another process's root. Ours is as good as another's. */
static void test_in_root(const char *dir)
{
	char path[128], root[32];
	struct stat st;
	int fd;

	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	snprintf(path, sizeof(path), "%s%s/file", root, dir);
	CHECK_EQ(os_path_root_bytes(path), strlen(root), "the root's part of a path");
	CHECK(!os_path_root_bytes("/proc/self/root/x") && !os_path_root_bytes("/proc/1/rootx") &&
		      !os_path_root_bytes(root) && !os_path_root_bytes("/proc//root/x"),
	      "paths of other forms");
	if (!os_has_openat2()) {
		SKIP("no openat2 here");
		return;
	}
	CHECK_EQ(os_open_regular(path), -ENOENT, "missing");
	close(open(path + strlen(root), O_CREAT | O_WRONLY, 0600));
	fd = os_open_regular(path);
	CHECK(fd >= 0 && os_exists(path) && !os_path_stat(path, &st) && S_ISREG(st.st_mode),
	      "a file in the root");
	close(fd);
	unlink(path + strlen(root));
	CHECK(!symlink("/proc/self/root/etc/passwd", path + strlen(root)), "a magic link");
	CHECK_EQ(os_open_regular(path), -ELOOP, "is not followed");
	CHECK(!os_exists(path), "nor looked through");
	unlink(path + strlen(root));
}

/* No process writes into the FIFO: opening it as a file is opened would wait forever. */
int main(void)
{
	char dir[] = "/tmp/clew-file-XXXXXX", path[64];
	struct os_map map;

	CHECK(mkdtemp(dir), "a directory");
	snprintf(path, sizeof(path), "%s/fifo", dir);
	CHECK(!mkfifo(path, 0600), "a FIFO");
	alarm(10);
	CHECK_EQ(os_map_file(path, &map, NULL), CLEW_UNSUPPORTED, "is not mapped");
	CHECK_EQ(os_open_regular(path), -EINVAL, "nor opened as a regular file");
	CHECK_EQ(os_open_regular(dir), -EINVAL, "nor is a directory");
	unlink(path);
	CHECK_EQ(os_open_regular(path), -ENOENT, "a missing file");
	test_read_whole(path);
	test_read_all_at(path);
	test_trusted(dir);
	test_in_root(dir);
	rmdir(dir);
	return tap_done();
}
