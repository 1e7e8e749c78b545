/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

/** From here on a SIGUSR2 waits for os_signal_open(): by default it would end the process. */
void os_signal_hold_requests(void);

/**
 * Signals as something to poll: from here on INT, TERM, HUP, QUIT, USR2 and CHLD of this process
 * are blocked and arrive at the descriptor; PIPE is ignored. Call before any thread is started.
 * @return a non-blocking descriptor, or -errno.
 */
int os_signal_open(void);

/** @return the number of a pending signal, or 0. */
int os_signal_next(int fd);

void os_signal_close(int fd);

#endif
