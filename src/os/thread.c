/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "base/mem.h"

struct os_thread {
	pthread_t id;
	void (*run)(void *ctx);
	void *ctx;
};

struct os_lock {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
};

static void *thread_main(void *arg)
{
	struct os_thread *t = arg;

	t->run(t->ctx);
	return NULL;
}

struct os_thread *os_thread_start(void (*run)(void *ctx), void *ctx)
{
	struct os_thread *t = mem_alloc(sizeof(*t));
	sigset_t all, old;
	int err;

	if (!t)
		return NULL;
	*t = (struct os_thread){.run = run, .ctx = ctx};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&t->id, NULL, thread_main, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		mem_free(t);
		return NULL;
	}
	return t;
}

void os_thread_join(struct os_thread *t)
{
	if (!t)
		return;
	pthread_join(t->id, NULL);
	mem_free(t);
}

struct os_lock *os_lock_new(void)
{
	struct os_lock *l = mem_alloc(sizeof(*l));
	pthread_condattr_t monotonic;

	if (!l)
		return NULL;
	pthread_mutex_init(&l->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return l;
}

void os_lock_free(struct os_lock *l)
{
	if (!l)
		return;
	pthread_cond_destroy(&l->cond);
	pthread_mutex_destroy(&l->mutex);
	mem_free(l);
}

void os_lock(struct os_lock *l)
{
	pthread_mutex_lock(&l->mutex);
}

void os_unlock(struct os_lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

void os_lock_wait(struct os_lock *l)
{
	pthread_cond_wait(&l->cond, &l->mutex);
}

void os_lock_wait_ms(struct os_lock *l, unsigned int ms)
{
	struct timespec until;
	long ns;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns = until.tv_nsec + (long)(ms % 1000) * 1000000;
	until.tv_sec += (time_t)(ms / 1000) + ns / 1000000000;
	until.tv_nsec = ns % 1000000000;
	pthread_cond_timedwait(&l->cond, &l->mutex, &until);
}

void os_lock_wake_all(struct os_lock *l)
{
	pthread_cond_broadcast(&l->cond);
}

unsigned int os_nr_cpus_usable(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return CPU_COUNT(&set) > 0 ? (unsigned int)CPU_COUNT(&set) : 1;
}
