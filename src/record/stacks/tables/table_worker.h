/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_TABLES_TABLE_WORKER_H
#define RECORD_STACKS_TABLES_TABLE_WORKER_H

#include "record/stacks/bpf/defer_bpf.h"
#include "record/stacks/tables/live_code.h"
#include "record/stacks/tables/mapped_names.h"

/**
 * A thread of its own that opens files, compiles their tables, and ends the walks that had to wait
 * for one, so that the rings are read meanwhile. All calls are the recorder's thread's.
 */
struct table_worker;

/** A walk that was ended in user space. */
struct held_stack {
	struct defer_stack stack; /* pointers into what follows */
	struct unw_regs regs;
	uint32_t nr_before; /* frames that BPF had found */
	uint8_t stop_before;
	uint64_t *ips;
	uint8_t *methods;
	uint8_t *bytes;
	bool is_unknown; /* the process has ended; table_worker_again() may help */
	bool is_again;
};

/** What the thread has done: a table (code NULL: there is none), or a stack. */
struct table_result {
	struct defer_want want;
	bool was_named; /* table_worker_want_named() */
	bool is_file;   /* table_worker_file() */
	uint32_t file;
	const struct unw_code *code; /* as long as the worker */
	struct held_stack *stack;    /* NULL: it is a table. To be freed with held_stack_free() */
};

/** @p cache_dir: of compiled tables, NULL: none. @return NULL: out of memory, or no thread. */
struct table_worker *table_worker_new(const char *cache_dir, uint32_t max_stack);
/** What is not done yet is dropped. */
void table_worker_free(struct table_worker *w);

/** Each is copied. @return false: out of memory, or (stacks) too much is held already. */
bool table_worker_want(struct table_worker *w, const struct defer_want *want);
/** The same, where the file could not be opened by its mapping: by what it was called. */
bool table_worker_want_named(struct table_worker *w, const struct defer_want *want,
			     const struct mapped_name *name);
/** A file of a process, which the caller knows by a number. */
bool table_worker_file(struct table_worker *w, uint32_t file, const struct live_mapping *m);
/** Have the table of @p path at hand, for whoever will want it. No result. */
bool table_worker_warm(struct table_worker *w, const char *path);
bool table_worker_finish(struct table_worker *w, const struct defer_stack *s);
/** Retry the walk with the mappings recorded since. @p h: taken over; not
 * if false: there is no more that could be done. */
bool table_worker_again(struct table_worker *w, struct held_stack *h);
/** A record of a process: it may end before its stacks have been ended. No result. */
bool table_worker_record(struct table_worker *w, const struct perf_record *r);

/** The next result, if one is ready. */
bool table_worker_next(struct table_worker *w, struct table_result *ret);

/** Given and not handed back yet. */
size_t table_worker_nr_pending(const struct table_worker *w);
/** Of them, stacks. */
size_t table_worker_nr_stacks(const struct table_worker *w);

void held_stack_free(struct held_stack *h);

#endif
