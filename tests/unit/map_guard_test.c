/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_guard.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "tap.h"

enum { PAGES = 4 };

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A mapped file of PAGES pages of 0xaa, cut off after the first; its descriptor. */
static int map_and_cut(struct os_map *map, bool is_private)
{
	char path[] = "/tmp/clew-map-guard-XXXXXX";
	size_t size = PAGES * page_bytes();
	int fd = mkstemp(path);
	char *fill = malloc(size);

	memset(fill, 0xaa, size);
	CHECK(fd >= 0 && write(fd, fill, size) == (ssize_t)size, "a file");
	free(fill);
	if (is_private)
		CHECK_EQ(os_map_file_private(path, map, NULL), CLEW_OK, "mapped, writable");
	else
		CHECK_EQ(os_map_file(path, map, NULL), CLEW_OK, "the file is mapped");
	CHECK(!ftruncate(fd, (off_t)page_bytes()), "cut off");
	unlink(path);
	return fd;
}

static void reads_zeros(bool is_private)
{
	struct os_map map;
	int fd = map_and_cut(&map, is_private);
	const volatile uint8_t *p = map.data;

	CHECK_EQ(p[PAGES * page_bytes() - 1], 0, "the last byte");
	CHECK_EQ(p[page_bytes()], 0, "the first one after the end");
	CHECK_EQ(p[page_bytes() - 1], 0xaa, "what is left of the file");
	os_map_done(&map);
	close(fd);
}

static void writes_go_nowhere(void)
{
	struct os_map map;
	int fd = map_and_cut(&map, true);
	volatile uint8_t *p = (volatile uint8_t *)(uintptr_t)map.data + 2 * page_bytes();

	*p = 1;
	CHECK_EQ(*p, 1, "written to our copy");
	os_map_done(&map);
	close(fd);
}

/* Not of a file's end: kills. */
static void others_kill(void)
{
	const struct rlimit no_core = {0};
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		raise(SIGBUS);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "another SIGBUS");
}

int main(void)
{
	os_map_guard();
	reads_zeros(false);
	reads_zeros(true);
	writes_go_nowhere();
	others_kill();
	return tap_done();
}
