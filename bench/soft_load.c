/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Work for a program that steps this one: ns per system call and ms of a loop, while not_called()
 * is not reached.
 */
enum { CALLS = 300000, TURNS = 50000000, ROUNDS = 7 };

void not_called(void); /* a symbol: what --trace-function waits for */

__attribute__((noinline)) void not_called(void)
{
	__asm__ volatile("");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double least_call = 1e18, least_loop = 1e18;
	volatile long n = 0;

	(void)argv;
	if (argc > 5)
		not_called();
	for (int r = 0; r < ROUNDS; r++) {
		double from = now(), between, to;

		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		between = now();
		for (int i = 0; i < TURNS; i++)
			n += i;
		to = now();
		least_call = between - from < least_call ? between - from : least_call;
		least_loop = to - between < least_loop ? to - between : least_loop;
	}
	printf("%.0f ns per system call, %.1f ms of a loop\n", least_call / CALLS,
	       least_loop / 1e6);
	return 0;
}
