/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_TABLES_LIVE_SPACE_H
#define RECORD_STACKS_TABLES_LIVE_SPACE_H

#include "perfdata/perf_record.h"
#include "record/stacks/tables/live_code.h"
#include "unwind/unw_walk.h"

/**
 * What code the processes have mapped while they are recorded, from the kernel's records in order
 * of time; a process that ran before is read from /proc when it is first asked for. Stacks are
 * walked in it. One thread.
 */
struct live_space;

/** @p store: borrowed, where tables come from. NULL: out of memory. */
struct live_space *live_space_new(struct unw_store *store);
void live_space_free(struct live_space *l);

/**
 * Files are looked into elsewhere: @p ask is called for each once, and live_space_set_code()
 * answers (NULL: could not be opened). Until then walks that need it end with
 * UNW_STOP_NO_TABLE_YET. With this, the store may be NULL. What @p m points to lives during the
 * call.
 */
void live_space_set_ask(struct live_space *l,
			bool (*ask)(void *ctx, uint32_t file, const struct live_mapping *m),
			void *ctx);
void live_space_set_code(struct live_space *l, uint32_t file, const struct unw_code *code);

/** Take in MMAP, MMAP2, FORK, COMM, EXIT; others are ignored. */
void live_space_record(struct live_space *l, const struct perf_record *r);

/** A copied piece of stack. */
struct live_stack {
	const uint8_t *bytes;
	uint64_t start; /* its address */
	size_t size;
};

/** Walk a thread of @p pid. @p frames as unw_walk() takes them. */
void live_space_walk(struct live_space *l, uint32_t pid, const struct unw_regs *regs,
		     const struct live_stack *stack, struct unw_frames *frames);

/** Read a running process, and the tables of all it has mapped, before they are wanted. */
void live_space_preload(struct live_space *l, uint32_t pid);

/** Is there code at @p pc? */
bool live_space_covers(struct live_space *l, uint32_t pid, uint64_t pc);

/** Forget what is known of @p pid: it will be read from /proc again. */
void live_space_forget(struct live_space *l, uint32_t pid);

/** Does @p pc lie in code that returns from a signal handler? */
bool live_space_is_signal(struct live_space *l, uint32_t pid, uint64_t pc);

/** Processes known, files looked into. */
size_t live_space_nr_processes(const struct live_space *l);
size_t live_space_nr_files(const struct live_space *l);
size_t live_space_table_bytes(const struct live_space *l);

#endif
