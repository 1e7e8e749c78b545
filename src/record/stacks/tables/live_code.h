/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_TABLES_LIVE_CODE_H
#define RECORD_STACKS_TABLES_LIVE_CODE_H

#include <stdbool.h>

#include "unwind/unw_store.h"

/** A file as a process has it mapped, while that may still be running. */
struct live_mapping {
	uint32_t pid;
	uint64_t start, end;     /* of one mapping of it */
	const char *name;        /* as MMAP2 or /proc/PID/maps give it */
	uint64_t ino;            /* 0: unknown */
	const uint8_t *build_id; /* NULL: unknown */
	uint8_t nr_build_id;
	uint64_t size,
		mtime_ns; /* of the file; 0: unknown. If known, no other file is taken for it */
};

/**
 * The table of the file: by /proc/PID/map_files, which finds what was replaced, deleted or lies in
 * another mount namespace; else by its name, under the process's root and ours, where inode or
 * build id prove that it is the same file; else from the process's memory.
 * @return NULL: none of these could be opened (the process has ended, or may not be read).
 */
const struct unw_code *live_code_find(struct unw_store *store, const struct live_mapping *m);

/** The same where only pid, start and end are known: name and inode come from /proc/PID/maps. */
const struct unw_code *live_code_of_mapping(struct unw_store *store, const struct live_mapping *m);

/** Code without a file: "//anon", "[heap]", a JIT's. */
bool live_code_is_anonymous(const char *name);

#endif
