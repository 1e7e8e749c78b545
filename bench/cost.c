/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Run a program and print what it took, with all its children: seconds, and seconds of CPU. It
 * stands between a recorder and its target, so that the recorder's own start and end do not count.
 *
 * Usage: cost PROGRAM [ARGUMENT...]
 */
static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct timespec from, to;
	struct rusage use;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) < 0) {
		perror("cost");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s: %s\n", argv[1], strsignal(WTERMSIG(status)));
		return 1;
	}
	printf("%.6f %.6f\n",
	       (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
	       seconds_of(&use.ru_utime) + seconds_of(&use.ru_stime));
	return WEXITSTATUS(status);
}
