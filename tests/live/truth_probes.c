// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls probed() a known number of times, each under a chain of calls that is known.
//   plain N      N times
//   endless N    N times, again and again, until it is killed
//   fork N K     N times in each of K children that do not exec, one after the other
//   beside N K   the same, all at once
//   threads N T  N times in each of T threads
//   after N T    the same, and when they have ended N times in the first thread
//   spin N T     no probed(): T threads that count to N, for samples of clocks
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 5 };

static int nr;
static volatile int sink;

__attribute__((noinline)) int probed(int n)
{
	sink += n;
	return n + 1;
}

__attribute__((noinline)) int nested(int depth)
{
	int r = depth ? nested(depth - 1) : probed(depth);

	sink += r; // no tail call
	return r + 1;
}

static void *calls(void *arg)
{
	for (int i = 0; i < nr; i++)
		nested(DEPTH);
	return arg;
}

static void *spins(void *arg)
{
	for (int i = 0; i < nr; i++)
		sink++;
	return arg;
}

static void run_threads(void *(*run)(void *), int nr_threads)
{
	pthread_t threads[16];

	for (int i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			exit(1);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
}

static void run_children(int nr_children, int is_beside)
{
	for (int i = 0; i < nr_children; i++) {
		if (!fork()) {
			calls(NULL);
			_exit(0);
		}
		if (!is_beside)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	int more = argc > 3 ? atoi(argv[3]) : 1;

	if (argc < 3 || more < 1 || more > 16)
		return 2;
	nr = atoi(argv[2]);
	if (!strcmp(argv[1], "plain"))
		calls(NULL);
	else if (!strcmp(argv[1], "endless"))
		for (;;)
			calls(NULL);
	else if (!strcmp(argv[1], "fork"))
		run_children(more, 0);
	else if (!strcmp(argv[1], "beside"))
		run_children(more, 1);
	else if (!strcmp(argv[1], "threads") || !strcmp(argv[1], "after"))
		run_threads(calls, more);
	else
		run_threads(spins, more);
	if (!strcmp(argv[1], "after"))
		calls(NULL);
	return 0;
}
