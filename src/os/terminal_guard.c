/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "os/terminal.h"

enum { MAX_BYTES = 512 };

static const int fatal[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT,
			    SIGSEGV, SIGBUS, SIGILL, SIGFPE};
enum { NR_FATAL = sizeof(fatal) / sizeof(*fatal) };

/* Read by the signal handler; a process has one terminal. */
static struct {
	int fd;
	struct termios mode;
	char bytes[MAX_BYTES];
	size_t size;
	struct sigaction before[NR_FATAL];
} guard;
static volatile sig_atomic_t is_guarded;

/* Only what signal-safety(7) allows. The signal is blocked here: what it did before happens on
 * return. */
static void on_fatal(int number)
{
	ssize_t ignored;

	if (is_guarded) {
		is_guarded = 0;
		ignored = write(guard.fd, guard.bytes, guard.size);
		(void)ignored;
		tcsetattr(guard.fd, TCSANOW, &guard.mode);
	}
	for (size_t i = 0; i < NR_FATAL; i++) {
		if (fatal[i] == number)
			sigaction(number, &guard.before[i], NULL);
	}
	raise(number);
}

/* Who handles SIGBUS expects it, and continues (os_map_guard()). */
static bool may_take(int number, const struct sigaction *before)
{
	return before->sa_handler != SIG_IGN && (number != SIGBUS || before->sa_handler == SIG_DFL);
}

int os_terminal_guard(int fd, const void *bytes, size_t size)
{
	struct sigaction handle = {.sa_handler = on_fatal};

	if (size > sizeof(guard.bytes))
		return -E2BIG;
	if (tcgetattr(fd, &guard.mode))
		return -errno;
	guard.fd = fd;
	memcpy(guard.bytes, bytes, size);
	guard.size = size;
	is_guarded = 1;
	for (size_t i = 0; i < NR_FATAL; i++) {
		sigaction(fatal[i], NULL, &guard.before[i]);
		if (may_take(fatal[i], &guard.before[i]))
			sigaction(fatal[i], &handle, NULL);
	}
	return 0;
}

void os_terminal_unguard(void)
{
	if (!is_guarded)
		return;
	is_guarded = 0;
	for (size_t i = 0; i < NR_FATAL; i++)
		sigaction(fatal[i], &guard.before[i], NULL);
}

void os_terminal_suspend(void)
{
	raise(SIGTSTP);
}
