/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_PATH_NAME_H
#define BASE_PATH_NAME_H

#include <string.h>

/** What follows the last '/'; all of it where that is nothing. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
