/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_TEST_DIR_H
#define TESTS_UNIT_TEST_DIR_H

#include <sys/stat.h>
#include <unistd.h>

#include "unit/tap.h"

/* A directory of the test's own, and files in it. */
static char test_dir[64];

/** Before the first check. */
static inline void test_dir_make(const char *name)
{
	snprintf(test_dir, sizeof(test_dir), "/tmp/clew-%s.XXXXXX", name);
	if (!mkdtemp(test_dir))
		SKIP_ALL("no writable /tmp");
}

/** The directories on the way are made, too. */
static inline void test_dir_write(const char *name, const void *data, size_t size)
{
	char path[256], *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	for (slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		CHECK(false, "%s cannot be written", path);
}

static inline void test_dir_put(const char *name, const char *text)
{
	test_dir_write(name, text, strlen(text));
}

static inline void test_dir_drop(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	unlink(path);
}

static inline void test_dir_remove(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", test_dir);
	CHECK_EQ(system(command), 0, "clean up");
}

#endif
