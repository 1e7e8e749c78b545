/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_COPY_STACKS_H
#define RECORD_STACKS_COPY_STACKS_H

#include "record/open/counters.h"
#include "record/stacks/bpf/defer_bpf.h"
#include "record/stacks/ring_merge.h"
#include "record/stacks/tables/live_space.h"

/**
 * User stacks from copies: samples come with registers and a piece of stack. They are unwound here
 * and get a cookie in place of the copy; a record with the same cookie, written after them, holds
 * the stack. Zeroed = not in use.
 */
struct copy_stacks {
	struct live_space *live;
	uint64_t *ips;
	uint8_t *methods, *exact; /* of each frame */
	uint32_t max;             /* frames */
	uint64_t nr_cookies;
	struct copy_counts {
		uint64_t nr_samples, nr_walked, nr_frames;
		uint64_t nr_no_user; /* no user registers: kernel threads, idle */
		uint64_t nr_compat;  /* 32-bit tasks: the one frame that needs nothing */
		uint64_t by_stop[NR_UNW_STOPS];
	} counts;
};

/** c->live has no source of tables yet. @return false: out of memory. */
bool copy_stacks_init(struct copy_stacks *c, uint32_t max_stack);
void copy_stacks_done(struct copy_stacks *c);

/** COMM, FORK, MMAP2, EXIT, in order of time with the samples. */
void copy_stacks_sideband(struct copy_stacks *c, const struct ring_record *r);

/** Append what becomes of the sample @p r of @p e to @p out. One that cannot be parsed goes as it
 * is. @p ret: the stack to be written after it, in memory of @p c; cookie 0: none.
 * @return false: a table is still to come; nothing was done. Not with @p is_last_call. */
bool copy_stacks_sample(struct copy_stacks *c, const struct rec_counter *e,
			const struct ring_record *r, bool is_last_call, struct buf *out,
			struct defer_stack *ret);

#endif
