/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process whose first thread ends before the others.
 *   first_ends MS           it ends after MS milliseconds; another one runs on
 *   first_ends MS load LIB  after MS ms the other thread loads LIB and runs in it
 *   first_ends MS exec      after MS ms the other thread executes this program again
 * Prints the ids of the process and of that thread, then "ready".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;
static int ms;
static char **args;

__attribute__((noinline)) static void in_thread(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sum += i;
}

__attribute__((noinline)) static void in_new_program(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sum += i;
}

static unsigned long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

static void change(void)
{
	void *library;
	void (*run)(void);

	if (!strcmp(args[2], "exec"))
		execl(args[0], args[0], "0", "new", (char *)NULL);
	library = dlopen(args[3], RTLD_NOW);
	run = library ? (void (*)(void))dlsym(library, "in_library") : NULL;
	while (run)
		run();
	exit(1);
}

static void *run(void *unused)
{
	unsigned long until = now_ms() + (unsigned long)ms;

	(void)unused;
	printf("%d %d\nready\n", (int)getpid(), (int)syscall(SYS_gettid));
	fflush(stdout);
	for (;;) {
		in_thread();
		if (args[2] && now_ms() >= until)
			change();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 2)
		return 2;
	while (argc > 2 && !strcmp(argv[2], "new"))
		in_new_program();
	ms = atoi(argv[1]);
	args = argv;
	pthread_create(&t, NULL, run, NULL);
	if (!argv[2])
		usleep((useconds_t)ms * 1000);
	pthread_exit(NULL);
}
