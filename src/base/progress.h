/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * How far a long run has come: written by the one thread that works, read at any time by one that
 * shows it (cli/common/progress.h). The numbers are for the eye alone and order nothing, hence
 * relaxed. Zeroed struct = nothing under way. NULL is fine everywhere: no one looks.
 */
struct progress {
	_Atomic(const char *) phase;  /* static words, such as "decoding trace" */
	_Atomic uint64_t done, total; /* in one unit; total 0: unknown */
	atomic_bool has_bytes;        /* that unit is bytes */
};

static inline void progress_begin_unit(struct progress *p, const char *phase, uint64_t total,
				       bool has_bytes)
{
	if (!p)
		return;
	atomic_store_explicit(&p->done, 0, memory_order_relaxed);
	atomic_store_explicit(&p->total, total, memory_order_relaxed);
	atomic_store_explicit(&p->has_bytes, has_bytes, memory_order_relaxed);
	atomic_store_explicit(&p->phase, phase, memory_order_relaxed);
}

/** @p total in bytes. */
static inline void progress_begin(struct progress *p, const char *phase, uint64_t total)
{
	progress_begin_unit(p, phase, total, true);
}

/** @p total of anything else. */
static inline void progress_begin_count(struct progress *p, const char *phase, uint64_t total)
{
	progress_begin_unit(p, phase, total, false);
}

static inline void progress_at(struct progress *p, uint64_t done)
{
	if (p)
		atomic_store_explicit(&p->done, done, memory_order_relaxed);
}

static inline void progress_add(struct progress *p, uint64_t more)
{
	if (p)
		progress_at(p, atomic_load_explicit(&p->done, memory_order_relaxed) + more);
}

#endif
