/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef STITCH_STITCH_H
#define STITCH_STITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>
#include <clew/time.h>

#include "stitch/stitch_outcome.h"

/*
 * Joins samples with the user stacks that were read later (or just before), by (tid, cookie). What
 * is put in comes out in the order it came in, a sample as soon as its outcome is known and all
 * before it are out. O(1) amortised a record; memory is what waits, and bounded by a budget: what
 * passes it goes out with its reason.
 *
 * A wrong stack is never attached: the end of a task, another program, or the task's next stacks
 * end a cookie's life, and so does time (STITCH_STACK_LIFE_NS). One thread at a time.
 * Rules and limits: docs/decisions/stitching.md.
 */

/** A stack is good for samples that come after it for so long: far less than a cookie's counter can
 * take to come round, far more than the way back to user mode takes. */
#define STITCH_STACK_LIFE_NS (60 * 1000000000ull)

/** One user stack, as recorded. */
struct stitch_stack {
	const uint8_t *ips; /* u64 each, in the file's byte order, not aligned */
	uint32_t nr;
	uint8_t stop, why; /* enum unw_stop, enum unw_why; UNW_STOP_NONE: the record does not say */
	uint8_t method;    /* of all frames, see methods */
	bool is_own;       /* of one sample alone: what else its task waits for may still come */
	const uint8_t *methods; /* of each frame; NULL: all alike. perf_deferred_method() */
	const void *record;     /* the caller's */
	size_t bytes;           /* of memory that goes with it when it is dropped */
};

/** One item as it goes out. */
struct stitch_item {
	void *item;
	bool is_sample; /* else nothing of the below */
	enum stitch_state state;
	enum stitch_reason reason;
	const struct stitch_stack *stack; /* to be attached (nr 0: none, but it has a stop), NULL:
					     none. Valid until the next call of any function here */
};

struct stitch_opts {
	uint64_t budget_bytes; /* 0: 64 MiB */
	uint64_t age_ns;       /* how long a sample may wait, in the trace's time; 0: no limit */
	/** The stack is not wanted any more. NULL: no notice. */
	void (*drop)(void *ctx, const struct stitch_stack *stack);
	void *ctx;
};

struct stitch;
struct stitch *stitch_new(const struct stitch_opts *opts);
/** Items not taken out are forgotten: their owner frees them, by stitch_end() and stitch_next(). */
void stitch_free(struct stitch *s);

/*
 * In time order. @p item is the caller's and comes back by stitch_next(); @p bytes is what it holds
 * in memory. What goes through these is settled at once or waits; take out what may go before the
 * next is put in, or it counts as in flight. Each CLEW_NO_MEMORY: nothing was taken.
 */

/** A sample that needs the stack of (tid, cookie). */
enum clew_err stitch_sample(struct stitch *s, uint32_t tid, uint64_t cookie,
			    struct clew_perf_ns time, void *item, size_t bytes);
/** A sample with a known outcome: it only keeps its place in the order. */
enum clew_err stitch_settled(struct stitch *s, struct clew_perf_ns time, enum stitch_state state,
			     enum stitch_reason reason, void *item, size_t bytes);
/** Any other record that has to keep its place. */
enum clew_err stitch_other(struct stitch *s, struct clew_perf_ns time, void *item, size_t bytes);
/**
 * The stack of (tid, cookie). @p stack's bytes must live until it is dropped; drop() may be called
 * within this call, for one that no sample can want. Not called where CLEW_NO_MEMORY is returned.
 */
enum clew_err stitch_stack_record(struct stitch *s, uint32_t tid, uint64_t cookie,
				  struct clew_perf_ns time, const struct stitch_stack *stack);
void stitch_task_exit(struct stitch *s, uint32_t tid);
/** A task begins: whoever had its number before has ended. */
void stitch_task_fork(struct stitch *s, uint32_t tid);
void stitch_task_exec(struct stitch *s, uint32_t tid);
/** Records were lost: what waits now may never get its stack. */
void stitch_lost(struct stitch *s);
/** The stream is over: nothing waits any more. */
void stitch_end(struct stitch *s);

/** The next item that may go out; false: none for now. */
bool stitch_next(struct stitch *s, struct stitch_item *ret);

void stitch_counts(const struct stitch *s, struct stitch_counts *ret);

#endif
