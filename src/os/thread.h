/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <stdbool.h>

#include <clew/err.h>

struct os_thread; /* a running thread */
struct os_lock;   /* a mutex with one condition variable */

/** All signals are blocked in the new thread, so that they reach the caller's. @return NULL when
 * refused. */
struct os_thread *os_thread_start(void (*run)(void *ctx), void *ctx);

/** Wait for its end and free it. NULL is fine. */
void os_thread_join(struct os_thread *t);

struct os_lock *os_lock_new(void);
void os_lock_free(struct os_lock *l);
void os_lock(struct os_lock *l);
void os_unlock(struct os_lock *l);
/** Unlock, sleep until os_lock_wake_all(), lock. May wake without cause: test the condition in a
 * loop. */
void os_lock_wait(struct os_lock *l);
/** The same, no longer than @p ms. */
void os_lock_wait_ms(struct os_lock *l, unsigned int ms);
void os_lock_wake_all(struct os_lock *l);

/** CPUs this process may run on, at least 1. */
unsigned int os_nr_cpus_usable(void);

#endif
