/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_TERMINAL_H
#define TESTS_TERMINAL_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What the terminal on standard error was given: nothing here waits for less than it takes. */
static int terminal;
static char seen[1 << 16];
static size_t nr_seen;

static bool open_terminal(void)
{
	int line;

	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		return false;
	line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	return line >= 0 && dup2(line, STDERR_FILENO) >= 0;
}

static void set_columns(unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};

	ioctl(terminal, TIOCSWINSZ, &size);
}

static void forget(void)
{
	nr_seen = 0;
	seen[0] = '\0';
}

/* Reads until @p text is there. */
static const char *wait_for(const char *text)
{
	const char *at;

	while (!(at = strstr(seen, text))) {
		ssize_t n = read(terminal, seen + nr_seen, sizeof(seen) - 1 - nr_seen);

		if (n <= 0)
			return NULL;
		nr_seen += (size_t)n;
		seen[nr_seen] = '\0';
	}
	return at;
}

#endif
