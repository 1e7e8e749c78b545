/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_TEMP_DIR_H
#define OS_TEMP_DIR_H

enum { OS_TEMP_DIR_BYTES = 32 };

/** Make a directory for files that have to have a name: for us alone (mode 0700), in /var/tmp, else
 * /tmp. @return 0, or -errno. */
int os_temp_dir_make(char ret[OS_TEMP_DIR_BYTES]);

/** Remove it with the files in it, which hold no directories. */
void os_temp_dir_remove(const char *path);

#endif
