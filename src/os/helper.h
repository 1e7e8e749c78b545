/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_HELPER_H
#define OS_HELPER_H

#include <stdbool.h>

/*
 * A second thread that does one piece of work after the other beside its owner's. It is started
 * with the first, and sleeps between them: to start one for each costs more than a short piece
 * does.
 */
struct os_helper;

/** NULL: no memory. */
struct os_helper *os_helper_new(void);
/** It has nothing to do. NULL is fine. */
void os_helper_free(struct os_helper *h);

/** Followed by os_helper_wait(). @return false: refused; @p run is not called. */
bool os_helper_run(struct os_helper *h, void (*run)(void *ctx), void *ctx);
/** Until it is done. */
void os_helper_wait(struct os_helper *h);

#endif
