/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "os/file.h"

enum { BACKLOG = 16, MAX_TRIES = 64 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t loopback(union address *ret, int family, uint16_t port)
{
	*ret = (union address){0};
	if (family == AF_INET) {
		ret->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		ret->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(ret->v4);
	}
	ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	ret->v6.sin6_addr = in6addr_loopback;
	return sizeof(ret->v6);
}

static int listen_at(int family, uint16_t port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, err;
	union address a;
	socklen_t size = loopback(&a, family, port);

	if (fd < 0)
		return -errno;
	/* A port that was ours a moment ago is free. ::1 is no other name of 127.0.0.1. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (!bind(fd, &a.any, size) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	os_close(fd);
	return err;
}

static uint16_t port_of(int fd)
{
	union address a = {0};
	socklen_t size = sizeof(a);

	if (getsockname(fd, &a.any, &size))
		return 0;
	return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
}

static bool has_no_family(int err)
{
	return err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL;
}

static int listen_at_both(struct os_listen *l, uint16_t port)
{
	int a = listen_at(AF_INET, port), b;

	if (a < 0 && !has_no_family(a))
		return a;
	b = listen_at(AF_INET6, a < 0 ? port : port_of(a));
	if (b < 0 && (a < 0 || !has_no_family(b))) {
		if (a >= 0)
			os_close(a);
		return b;
	}
	*l = (struct os_listen){
		{a, b},
                port_of(a < 0 ? b : a)
        };
	return 0;
}

/* A port that the kernel finds free for one address may be used at the other. */
int os_listen_loopback(struct os_listen *l, uint16_t port)
{
	int err = -EADDRINUSE;

	*l = (struct os_listen){
		{-1, -1},
                0
        };
	for (int i = 0; i < (port ? 1 : MAX_TRIES) && err == -EADDRINUSE; i++)
		err = listen_at_both(l, port);
	return err;
}

void os_listen_done(struct os_listen *l)
{
	for (int i = 0; i < 2; i++) {
		if (l->fds[i] >= 0)
			os_close(l->fds[i]);
	}
	*l = (struct os_listen){
		{-1, -1},
                0
        };
}

int os_accept(int fd)
{
	int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	return c < 0 ? -errno : c;
}

long os_receive(int fd, void *ret, size_t size)
{
	ssize_t n = recv(fd, ret, size, 0);

	return n < 0 ? -errno : n;
}

long os_send(int fd, const void *data, size_t size)
{
	ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

int os_random(void *ret, size_t size)
{
	ssize_t n = getrandom(ret, size, 0); /* up to 256 bytes come as a whole */

	return n < 0 ? -errno : (size_t)n == size ? 0 : -EIO;
}
