/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_STORE_H
#define UNWIND_UNW_STORE_H

#include "base/budget.h"
#include "unwind/unw_table.h"

/*
 * Compiled tables by binary: from memory, from the cache directory by build id, or compiled now.
 */
struct unw_store;

/** What a store takes in: processes that are recorded may map files without end. Further binaries
 * have no table. */
enum { UNW_STORE_MAX_FILES = 1 << 14 };
#define UNW_STORE_MAX_BYTES (2ull << 30) /* of tables and of files' copies */

struct unw_store_opts {
	const char *cache_dir; /* "$XDG_CACHE_HOME/clew/unwind" by the caller; NULL: no cache.
				  Borrowed */
	struct budget *budget; /* of tables and what they are made of; NULL: no limit */
	const char *debug_dir; /* of separate debug files, for .debug_frame; NULL: /usr/lib/debug.
				  Borrowed */
};

/** unw_code.why_none of a binary for which the budget has no room. */
extern const char unw_over_budget[];

struct unw_store *unw_store_new(const struct unw_store_opts *opts);
void unw_store_free(struct unw_store *s);

/** A binary's table; lives as long as the store. */
struct unw_code {
	struct unw_table table;
	const char *why_none; /* table.head NULL: static text why ("no .eh_frame", ...) */
	bool was_cached;
	uint64_t compile_ns;
	/* The file's bytes, for sigreturn patterns and call checks; NULL: not at hand. Executable
	 * segments only, in rel. */
	const uint8_t *code;
	size_t code_bytes;
	uint64_t code_start; /* rel of code[0] */
};

/** By a file's bytes, borrowed for the store's life. Compiled again at each call, as another file
 * may have the same build id. NULL only when memory is short. One thread at a time per store. */
const struct unw_code *unw_store_get_bytes(struct unw_store *s, const void *data, size_t size);
/** The same of bytes that need not live on: there is no code then. */
const struct unw_code *unw_store_get_copy(struct unw_store *s, const void *data, size_t size);
/** By path; device, inode, size and mtime are the identity in memory, so a replaced file is another
 * one; the build id is the one in the cache. One stat(2) for a file that is known. */
const struct unw_code *unw_store_get_file(struct unw_store *s, const char *path);
/** This machine's vdso. */
const struct unw_code *unw_store_get_vdso(struct unw_store *s);

/** Bytes of all tables held. */
size_t unw_store_bytes(const struct unw_store *s);

#endif
