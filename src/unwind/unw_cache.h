/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_CACHE_H
#define UNWIND_UNW_CACHE_H

#include "base/buf.h"
#include "image/file_cache.h"
#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/*
 * Compiled tables in files. A file's name says all that its content depends on: build id, version
 * of the table, and a hash of the sections and of where they and the segments lie, as a
 * build id alone may be that of another file (a stripped one, or one that lies).
 */
/** Raise it whenever a binary compiles to another table than before. */
enum { UNW_CACHE_VERSION = 9 };

enum { UNW_CACHE_MAX_BYTES = 256 << 20 };

/** @return false: @p image has no build id, so nothing distinguishes it from others. */
bool unw_cache_name(const struct unw_image *image, const uint8_t *build_id, size_t build_id_bytes,
		    struct buf *ret);

/** The table stored as @p name, its block the caller's. @return false: none, or a damaged one. */
bool unw_cache_load(struct file_cache *c, const char *name, enum unw_arch arch, void **ret_block,
		    size_t *ret_size);

#endif
