/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_DIR_H
#define OS_DIR_H

#include <stdbool.h>

#include <clew/err.h>

#include "base/arena.h"
#include "base/vec.h"

/** Names of a directory's entries, sorted by byte value; text in @p arena, the vector is the
 * caller's to vec_done(). "." and ".." are omitted, and so is all beyond 100,000 entries. */
struct os_names {
	VEC(const char *);
};

/** Append to @p ret. @return CLEW_OK; CLEW_OS: cannot be opened; CLEW_NO_MEMORY. */
enum clew_err os_dir_names(const char *path, struct arena *arena, struct os_names *ret,
			   struct clew_diag *diag);

/** A small file's text without white space at its end, in @p arena; NULL: no such file, not
 * readable, larger than 1 MiB, or out of memory. For sysfs and procfs values. */
const char *os_read_line(const char *path, struct arena *arena);

/** Make @p path, and what is missing of the way to it, for us alone (mode 0700). @return 0, also
 * where it was there; else -errno. */
int os_dir_make(const char *path);

/** Is it a directory of ours that no one else may write into? */
bool os_dir_is_private(const char *path);

/** Can only we and root put something else at @p path? That is so if all directories on the
 * way to it, as far as they are there, are ours or root's, and others may not write into them (or
 * only beside what is there: /tmp). False for a relative path. */
bool os_dir_has_own_way(const char *path);

#endif
