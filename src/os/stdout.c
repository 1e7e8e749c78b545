/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/stdout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void os_ignore_sigpipe(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &ignore, NULL);
}

static int spawn_reader(const char *shell_command, int read_end)
{
	char sh[] = "sh", dash_c[] = "-c";
	char *argv[] = {sh, dash_c, (char *)(uintptr_t)shell_command, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&actions, read_end, STDIN_FILENO);
	if (!err)
		err = posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err ? -err : pid;
}

int os_stdout_page(const char *shell_command)
{
	int ends[2], pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = spawn_reader(shell_command, ends[0]);
	if (pid > 0 && dup2(ends[1], STDOUT_FILENO) < 0)
		pid = -errno;
	close(ends[0]);
	close(ends[1]);
	return pid;
}

void os_stdout_page_end(int pid)
{
	close(STDOUT_FILENO);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
