/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_POLL_SET_H
#define OS_POLL_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct os_poll_fd { /* laid out as poll(2) takes it */
	int fd;     /* -1: ignored */
	short events, revents;
};

/** Descriptors to wait for. Zeroed struct = none. */
struct os_poll {
	VEC(struct os_poll_fd);
};

/** @return its index, or -1 when memory is short. */
int os_poll_add(struct os_poll *p, int fd);

/** Wait also, or no longer, until it can be written to. */
void os_poll_want_write(struct os_poll *p, int index, bool is_wanted);

/** Wait up to @p timeout_ms (-1: for ever) for input or an end. @return how many are ready; 0:
 * time's up or a signal; -errno. */
int os_poll_wait(struct os_poll *p, int timeout_ms);

/** Hung up, in error or closed: nothing will come any more. */
bool os_poll_is_ended(const struct os_poll *p, int index);

void os_poll_done(struct os_poll *p);

#endif
