/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/stdout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/terminal.h"

extern char **environ;

void os_ignore_sigpipe(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &ignore, NULL);
}

/** What we ignore, it need not; nor what the thread blocks that we are in. */
static int set_signals(posix_spawnattr_t *attr)
{
	sigset_t defaults, none;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGXFSZ);
	return posix_spawnattr_setsigdefault(attr, &defaults)
		     ?: posix_spawnattr_setsigmask(attr, &none)
		     ?: posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

static int spawn_reader(char *const argv[], int read_end)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	pid_t pid;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (!err) {
		err = set_signals(&attr)
			    ?: posix_spawn_file_actions_adddup2(&actions, read_end, STDIN_FILENO);
		if (!err)
			err = posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	return err ? -err : pid;
}

int os_stdout_page(char *const argv[])
{
	int ends[2], pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = spawn_reader(argv, ends[0]);
	if (pid > 0 && dup2(ends[1], STDOUT_FILENO) < 0)
		pid = -errno;
	os_interrupt_reader(pid);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

bool os_has_more_rights(void)
{
	return geteuid() == 0 || geteuid() != getuid() || getegid() != getgid();
}

void os_stdout_page_end(int pid)
{
	close(STDOUT_FILENO);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	os_interrupt_reader(0);
}
