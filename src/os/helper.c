/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/helper.h"

#include "base/mem.h"
#include "os/thread.h"

enum state { IDLE, WORKING, OVER };

struct os_helper {
	struct os_thread *thread; /* NULL: not started */
	struct os_lock *lock;     /* of all below */
	enum state state;
	void (*run)(void *ctx);
	void *ctx;
};

struct os_helper *os_helper_new(void)
{
	struct os_helper *h = mem_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->lock = os_lock_new();
	if (h->lock)
		return h;
	mem_free(h);
	return NULL;
}

static void set_state(struct os_helper *h, enum state state)
{
	os_lock(h->lock);
	h->state = state;
	os_lock_wake_all(h->lock);
	os_unlock(h->lock);
}

/** @return the state it became. */
static enum state wait_while(struct os_helper *h, enum state state)
{
	enum state now;

	os_lock(h->lock);
	while (h->state == state)
		os_lock_wait(h->lock);
	now = h->state;
	os_unlock(h->lock);
	return now;
}

static void work(void *ctx)
{
	struct os_helper *h = ctx;

	while (wait_while(h, IDLE) == WORKING) {
		h->run(h->ctx);
		set_state(h, IDLE);
	}
}

bool os_helper_run(struct os_helper *h, void (*run)(void *ctx), void *ctx)
{
	h->run = run;
	h->ctx = ctx;
	set_state(h, WORKING);
	if (!h->thread)
		h->thread = os_thread_start(work, h);
	if (!h->thread)
		h->state = IDLE;
	return h->thread;
}

void os_helper_wait(struct os_helper *h)
{
	wait_while(h, WORKING);
}

void os_helper_free(struct os_helper *h)
{
	if (!h)
		return;
	if (h->thread) {
		set_state(h, OVER);
		os_thread_join(h->thread);
	}
	os_lock_free(h->lock);
	mem_free(h);
}
