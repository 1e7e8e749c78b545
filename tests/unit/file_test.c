/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

/* Around the size of the first read, and where the size is told by the file or is not. */
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
	      "a file that tells no size");
	free(text);
}

/* Nobody writes into the FIFO: opening it as a file is opened would wait forever. */
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
	CHECK_EQ(os_open_regular(path), -ENOENT, "what is not there");
	test_read_whole(path);
	rmdir(dir);
	return tap_done();
}
