/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/poll_set.h"

#include <errno.h>
#include <poll.h>

_Static_assert(sizeof(struct os_poll_fd) == sizeof(struct pollfd), "handed to poll(2) as is");
_Static_assert(offsetof(struct os_poll_fd, revents) == offsetof(struct pollfd, revents),
	       "handed to poll(2) as is");

int os_poll_add(struct os_poll *p, int fd)
{
	if (!vec_push(p, (struct os_poll_fd){.fd = fd, .events = POLLIN}))
		return -1;
	return (int)p->nr - 1;
}

void os_poll_want_write(struct os_poll *p, int index, bool is_wanted)
{
	p->data[index].events = is_wanted ? POLLIN | POLLOUT : POLLIN;
}

int os_poll_wait(struct os_poll *p, int timeout_ms)
{
	int n = poll((struct pollfd *)(void *)p->data, p->nr, timeout_ms);

	if (n >= 0 || errno != EINTR)
		return n < 0 ? -errno : n;
	vec_for_each (p, f) /* poll(2) has left them as they were */
		f->revents = 0;
	return 0;
}

bool os_poll_is_ended(const struct os_poll *p, int index)
{
	return p->data[index].revents & (POLLHUP | POLLERR | POLLNVAL);
}

void os_poll_done(struct os_poll *p)
{
	vec_done(p);
}
