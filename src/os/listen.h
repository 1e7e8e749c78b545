/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_LISTEN_H
#define OS_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Sockets that accept connections of this machine only: 127.0.0.1 and, where there is IPv6, ::1.
 */
struct os_listen {
	int fds[2]; /* of both; -1: none */
	uint16_t port;
};

/**
 * @p port of both addresses; 0: one that is free. Descriptors do not block and are close-on-exec.
 * @return 0, or -errno: -EADDRINUSE, -EACCES, ...; there is nothing to close then.
 */
int os_listen_loopback(struct os_listen *l, uint16_t port);
void os_listen_done(struct os_listen *l);

/** A connection, which does not block. @return the descriptor, or -errno: -EAGAIN: none waits. */
int os_accept(int fd);

/* Both: the number of bytes, or -errno; 0 of os_receive(): the other side sends no more. */
long os_receive(int fd, void *ret, size_t size);
long os_send(int fd, const void *data, size_t size);

/** Bytes that cannot be foreseen. @return 0 or -errno. */
int os_random(void *ret, size_t size);

#endif
