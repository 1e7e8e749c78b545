/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_ahead.h"

#include <sys/mman.h>

#include "base/mem.h"
#include "os/map_trail.h"
#include "os/thread.h"

#ifndef MADV_POPULATE_READ
# define MADV_POPULATE_READ 22 /* Linux 5.14, include/uapi/asm-generic/mman-common.h */
#endif

enum {
	STEP = 2 << 20,
	AHEAD = 8 << 20,
	KEEP = 8 << 20, /* before the reader's position: its queue points there */
	MIN_BYTES = 16 << 20
};

struct os_map_ahead {
	struct os_map map;
	struct os_thread *thread;
	struct os_lock *lock; /* of pos and is_over */
	size_t pos;
	bool is_over;
	size_t reported; /* the reader's */
	size_t entered;  /* the thread's: a multiple of STEP */
	struct os_map_trail trail;
};

static bool enter_pages(struct os_map_ahead *a)
{
	size_t left = a->map.size - a->entered;
	void *from = (void *)(uintptr_t)(a->map.data + a->entered);

	/* A file that shrank fails here and raises no SIGBUS; so does a kernel without it. */
	if (madvise(from, left < STEP ? left : STEP, MADV_POPULATE_READ))
		return false;
	a->entered += STEP;
	return true;
}

/** One step of work for a reader at @p pos. @return false: none to do. */
static bool work(struct os_map_ahead *a, size_t pos)
{
	if (a->entered < pos)
		a->entered = pos / STEP * STEP;
	if (a->entered < a->map.size && a->entered - pos / STEP * STEP < AHEAD) {
		if (!enter_pages(a))
			a->entered = SIZE_MAX;
		return true;
	}
	return pos >= KEEP && os_map_trail_next(&a->trail, &a->map, pos - KEEP);
}

static void run(void *ctx)
{
	struct os_map_ahead *a = ctx;

	os_lock(a->lock);
	while (!a->is_over) {
		size_t pos = a->pos;
		bool has_worked;

		os_unlock(a->lock);
		has_worked = work(a, pos);
		os_lock(a->lock);
		if (!has_worked && pos == a->pos && !a->is_over)
			os_lock_wait(a->lock);
	}
	os_unlock(a->lock);
}

struct os_map_ahead *os_map_ahead_start(const struct os_map *m)
{
	struct os_map_ahead *a;

	if (m->size < MIN_BYTES || os_nr_cpus_usable() < 2)
		return NULL;
	a = mem_zalloc(sizeof(*a));
	if (!a)
		return NULL;
	a->map = *m;
	a->trail.step = STEP;
	a->lock = os_lock_new();
	a->thread = a->lock ? os_thread_start(run, a) : NULL;
	if (a->thread)
		return a;
	os_map_ahead_stop(a);
	return NULL;
}

void os_map_ahead_reached(struct os_map_ahead *a, size_t pos)
{
	if (!a || pos < a->reported + STEP)
		return;
	a->reported = pos;
	os_lock(a->lock);
	a->pos = pos;
	os_lock_wake_all(a->lock);
	os_unlock(a->lock);
}

void os_map_ahead_stop(struct os_map_ahead *a)
{
	if (!a)
		return;
	if (a->thread) {
		os_lock(a->lock);
		a->is_over = true;
		os_lock_wake_all(a->lock);
		os_unlock(a->lock);
		os_thread_join(a->thread);
	}
	os_lock_free(a->lock);
	mem_free(a);
}
