/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_MAP_NAME_H
#define PERFDATA_MAP_NAME_H

#include <stdbool.h>
#include <stdint.h>

/** Is a mapping with that path and these flags (MMAP2's) anonymous memory? */
bool map_name_is_anonymous(const char *path, uint32_t flags);

/** Memory that only its own name distinguishes from anonymous one: of memfd_create(2), of SysV, of
 * deleted files. A compiler may write there, too. */
bool map_name_may_be_made(const char *path);

#endif
