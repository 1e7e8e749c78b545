/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef STITCH_STITCH_IMPL_H
#define STITCH_STITCH_IMPL_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "stitch/stitch.h"

/* --- stitch_keys.c: who waits for what --- */

#define STITCH_NONE UINT32_MAX /* no key, no task */

/** A stack that came; shared by its key and by the samples that got it and still wait. */
struct stitch_kept {
	struct stitch_stack stack;
	uint32_t refs;
	bool is_claimed;
};

/** (tid, cookie). Waiting: samples, no stack yet. Else done: the stack, no samples. */
struct stitch_key {
	uint64_t cookie;
	uint64_t first, last; /* waiting: oldest and newest sample, by their numbers in the queue */
	struct clew_perf_ns time; /* waiting: of the newest sample; done: of the stack */
	struct stitch_kept *kept; /* NULL: waiting */
	uint32_t tid, task;       /* task: index */
	uint32_t hash_next;       /* the next key in the bucket; or the next free key */
	uint32_t before, after;   /* waiting: the task's keys by time of their newest sample;
				     done: all done keys, by when they came */
	uint32_t loss;            /* waiting: stitch.loss when the oldest sample came */
};

struct stitch_task {
	uint32_t tid;
	uint32_t oldest, newest; /* waiting keys; oldest also links free tasks */
	uint32_t done, done_before;
	uint32_t own; /* done, of one sample alone: the others do not end it */
};

struct stitch_keys {
	struct {
		VEC(struct stitch_key);
	} keys;
	struct {
		VEC(struct stitch_task);
	} tasks;
	struct map_u64 by_tid;
	uint32_t *buckets;
	size_t nr_buckets; /* a power of two or 0 */
	size_t nr_keys;    /* in use */
	uint32_t free_key, free_task;
	uint32_t first_done, last_done;
};

void stitch_keys_init(struct stitch_keys *k);
void stitch_keys_done(struct stitch_keys *k);

/** @return STITCH_NONE: no such task. */
uint32_t stitch_task_find(const struct stitch_keys *k, uint32_t tid);
uint32_t stitch_key_find(const struct stitch_keys *k, uint32_t tid, uint64_t cookie);
/** Add a new key, waiting, without samples. @return STITCH_NONE without memory. */
uint32_t stitch_key_add(struct stitch_keys *k, uint32_t tid, uint64_t cookie);
void stitch_key_remove(struct stitch_keys *k, uint32_t key);
/** A sample came for a waiting key: it is its task's newest. */
void stitch_key_touch(struct stitch_keys *k, uint32_t key);
/** From waiting to done. @return the done key of the task that this one ends; STITCH_NONE: none. */
uint32_t stitch_key_settle(struct stitch_keys *k, uint32_t key, struct stitch_kept *kept);

#endif
