/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_FILE_TIME_H
#define OS_FILE_TIME_H

#include <stdint.h>

/** When the file's content last changed, in seconds since 1970. @return 0 or -errno. */
int os_file_changed(const char *path, int64_t *ret);

#endif
