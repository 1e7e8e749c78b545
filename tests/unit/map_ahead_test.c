/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_ahead.h"

#include <stdlib.h>
#include <unistd.h>

#include "unit/tap.h"

enum { BYTES = 48 << 20, PAGE = 4096 };

/** A sparse file: the number of each page at its start. */
static int make_file(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, BYTES + 1))
		return -1;
	for (uint32_t i = 0; i < BYTES / PAGE; i++) {
		if (pwrite(fd, &i, sizeof(i), (off_t)i * PAGE) != sizeof(i))
			return -1;
	}
	return fd;
}

static uint32_t nr_wrong(const struct os_map *m, struct os_map_ahead *a)
{
	uint32_t wrong = 0, v;

	for (uint32_t i = 0; i < BYTES / PAGE; i++) {
		os_map_ahead_reached(a, (size_t)i * PAGE);
		memcpy(&v, m->data + (size_t)i * PAGE, sizeof(v));
		wrong += v != i;
		/* what the queue still points to */
		memcpy(&v, m->data + (size_t)(i / 2) * PAGE, sizeof(v));
		wrong += v != i / 2;
	}
	os_map_ahead_reached(a, m->size);
	return wrong;
}

static void test_reader(const struct os_map *m)
{
	struct os_map_ahead *a = os_map_ahead_start(m);

	CHECK_EQ(nr_wrong(m, a), 0, "a reader sees all bytes%s", a ? "" : " (one CPU: no thread)");
	os_map_ahead_stop(a);
	a = os_map_ahead_start(m);
	os_map_ahead_stop(a);
	a = os_map_ahead_start(m);
	os_map_ahead_reached(a, m->size / 2);
	os_map_ahead_reached(a, m->size);
	os_map_ahead_stop(a);
	CHECK(true, "ended before it began, and far after its reader");
}

static void test_shrunk(const struct os_map *m, int fd)
{
	struct os_map_ahead *a;

	CHECK(!ftruncate(fd, PAGE), "the file shrinks");
	a = os_map_ahead_start(m);
	for (size_t pos = 0; pos < BYTES; pos += 1 << 20)
		os_map_ahead_reached(a, pos);
	os_map_ahead_stop(a);
	CHECK(true, "no SIGBUS for a thread that only enters pages");
}

int main(void)
{
	char path[] = "/tmp/map_ahead_test.XXXXXX";
	int fd = make_file(path);
	struct os_map m = {0};

	CHECK(fd >= 0 && !os_map_file(path, &m, NULL), "a file is mapped");
	unlink(path);
	CHECK(!os_map_ahead_start(&(struct os_map){m.data, PAGE}), "a small one needs no thread");
	os_map_ahead_reached(NULL, 1);
	os_map_ahead_stop(NULL);
	test_reader(&m);
	test_shrunk(&m, fd);
	os_map_done(&m);
	close(fd);
	return tap_done();
}
