/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/file.h"

static void watched(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
	sigaddset(ret, SIGQUIT);
	sigaddset(ret, SIGUSR2);
	sigaddset(ret, SIGCHLD);
}

void os_signal_hold_requests(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int os_signal_open(void)
{
	sigset_t set;
	int fd;

	watched(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	/* A parent that ignored CHLD would make wait() lose our child's status. */
	signal(SIGCHLD, SIG_DFL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int os_signal_next(int fd)
{
	struct signalfd_siginfo info;

	return os_read(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

void os_signal_close(int fd)
{
	sigset_t set;

	if (fd < 0)
		return;
	os_close(fd);
	watched(&set);
	sigdelset(&set, SIGUSR2); /* a request that comes too late must not end the process */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
