/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_trail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/tap.h"

/* How many pages stay where a reader and someone after it look at a mapped file. */

enum { STEP = 1 << 20, NR_STEPS = 64, PAGE = 4096, PAGES = STEP / PAGE };

/* Pages of @p m in our page table; 0: unknown. Spec: Documentation/admin-guide/mm/pagemap.rst */
static unsigned int nr_present(const struct os_map *m)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	unsigned int nr = 0;
	uint64_t entry;

	for (size_t at = 0; fd >= 0 && at < m->size; at += PAGE) {
		off_t place = (off_t)(((uintptr_t)m->data + at) / PAGE * sizeof(entry));

		if (pread(fd, &entry, sizeof(entry), place) == sizeof(entry))
			nr += (unsigned int)(entry >> 63);
	}
	if (fd >= 0)
		close(fd);
	return nr;
}

static unsigned int touch(const struct os_map *m, size_t step)
{
	unsigned int sum = 0;

	for (size_t at = 0; at < STEP; at += PAGE)
		sum += *(const volatile uint8_t *)(m->data + step * STEP + at);
	return sum;
}

/* @p late: steps after the reader. */
static void test_late(const struct os_map *m, size_t late)
{
	struct os_map_trail t = {.step = STEP};
	unsigned int most = 0, nr, sum = 0;

	for (size_t i = 0; i < NR_STEPS; i++) {
		sum += touch(m, i);
		while (os_map_trail_next(&t, m, (i + 1) * STEP))
			;
		if (i >= late)
			sum += touch(m, i - late);
		nr = nr_present(m) / PAGES;
		most = nr > most ? nr : most;
	}
	CHECK(t.nr == NR_STEPS && !sum, "all steps were made");
	CHECK(most <= 4 * late + 4, "%zu steps late: at most %u of %u steps are held", late, most,
	      NR_STEPS);
	os_map_release(m, 0, m->size);
}

int main(void)
{
	char path[] = "/tmp/map_trail_test.XXXXXX";
	struct os_map_trail t = {.step = STEP};
	struct os_map m = {0};
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !ftruncate(fd, NR_STEPS * STEP) && !os_map_file(path, &m, NULL),
	      "a file is mapped");
	unlink(path);
	CHECK(!os_map_trail_next(&t, &m, STEP - 1) && t.nr == 0, "a part of a step is none");
	touch(&m, 0);
	if (nr_present(&m) < PAGES || (os_map_release(&m, 0, m.size), nr_present(&m))) {
		SKIP("what is present is unknown here"); /* as in qemu */
		return tap_done();
	}
	for (size_t late = 1; late <= 8; late *= 2)
		test_late(&m, late);
	os_map_done(&m);
	close(fd);
	return tap_done();
}
