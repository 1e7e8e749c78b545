/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Read by the signal handler; a process has one terminal. */
static volatile sig_atomic_t has_line, reader_pid;
static int nowhere = -1; /* /dev/null: open() in the handler could fail */

unsigned int os_terminal_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

bool os_is_foreground(int fd)
{
	pid_t group = tcgetpgrp(fd);

	/* A terminal that does not control us has no foreground of ours. */
	return group < 0 || group == getpgrp();
}

/* Only what signal-safety(7) allows. The signal is blocked here: it ends us on return. */
static void on_interrupt(int number)
{
	static const char clear[] = "\r\033[K";
	ssize_t ignored;

	if (has_line) {
		ignored = write(STDERR_FILENO, clear, sizeof(clear) - 1);
		(void)ignored;
	}
	if (reader_pid > 0 && nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		while (waitpid((pid_t)reader_pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	signal(number, SIG_DFL);
	raise(number);
}

void os_interrupt_init(void)
{
	struct sigaction now, handle = {.sa_handler = on_interrupt};

	if (sigaction(SIGINT, NULL, &now) || now.sa_handler != SIG_DFL)
		return;
	sigaction(SIGINT, &handle, NULL);
}

void os_interrupt_line(bool is_there)
{
	has_line = is_there;
}

void os_interrupt_reader(int pid)
{
	if (pid > 0 && nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	reader_pid = pid;
}
