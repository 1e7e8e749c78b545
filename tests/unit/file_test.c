/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

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
	rmdir(dir);
	return tap_done();
}
