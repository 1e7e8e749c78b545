/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int os_temp_dir_make(char ret[OS_TEMP_DIR_BYTES])
{
	static const char *const forms[] = {"/var/tmp/clew-XXXXXX", "/tmp/clew-XXXXXX"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		strcpy(ret, forms[i]);
		if (mkdtemp(ret))
			return 0;
	}
	return -errno;
}

void os_temp_dir_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}
