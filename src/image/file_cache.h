/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_FILE_CACHE_H
#define IMAGE_FILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A directory of files that can be made again: bounded in size, the oldest go first. Any number of
 * processes may share it. A directory that others own, may write into or may put another in place
 * of is not used.
 */
struct file_cache;

/** Suffix of every file of a cache; others in the directory are left alone. */
#define FILE_CACHE_SUFFIX ".clew"

/** @p dir is copied, and made (mode 0700) when something is stored. NULL when memory is short. */
struct file_cache *file_cache_new(const char *dir, uint64_t max_bytes);
void file_cache_free(struct file_cache *c);

/**
 * What was stored as @p name (without suffix), aligned for any type, the caller's to mem_free().
 * Read, not mapped, so that another process that truncates the file cannot make us fault. NULL: no
 * such file, or memory is short.
 */
void *file_cache_load(struct file_cache *c, const char *name, size_t *ret_size);

/** Store: readers find the old content, the whole new one, or none. @return false: it could not be
 * written, or is larger than the cache. */
bool file_cache_store(struct file_cache *c, const char *name, const void *data, size_t size);

/** Bytes of all files of the cache now. Reads the directory. */
uint64_t file_cache_bytes(struct file_cache *c);

#endif
