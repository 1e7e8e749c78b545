/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads [ROUNDS]: threads that meet, end and begin, signals to oneself and to each other, faults
 * that are caught, a timer, fork. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t nr_signals;
static __thread sigjmp_buf back;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total;

static void on_signal(int nr)
{
	(void)nr;
	nr_signals++;
}

static void on_fault(int nr)
{
	siglongjmp(back, nr);
}

static void fault(unsigned int how)
{
	if (sigsetjmp(back, 1))
		return;
	if (how & 1)
		*(volatile int *)(uintptr_t)(16 + how) = 1;
	else if (how & 2)
		total += (unsigned long)*(volatile int *)(uintptr_t)(64 + how);
	else
#ifdef __x86_64__
		__asm__ volatile("ud2");
#else
		__asm__ volatile(".word 0x00000000");
#endif
}

static void *run(void *arg)
{
	unsigned long n = (unsigned long)arg, x = n;

	for (unsigned long i = 0; i < 3000; i++) {
		x = x * 31 + (i & x ? i : n);
		if (i % 400 == n)
			raise(SIGUSR1);
		if (i % 700 == n)
			fault((unsigned int)(i % 7));
	}
	pthread_mutex_lock(&lock);
	total += x;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	struct itimerval often = {
		{0, 2000},
                {0, 2000}
        };
	pthread_t t[4];

	signal(SIGUSR1, on_signal);
	signal(SIGALRM, on_signal);
	signal(SIGSEGV, on_fault);
	signal(SIGILL, on_fault);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned long r = 0; r < rounds; r++) {
		for (unsigned long i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, run, (void *)(i + 1));
		for (unsigned long i = 0; i < 4; i++) {
			if (i % 2)
				pthread_kill(t[i], SIGUSR1);
			pthread_join(t[i], NULL);
		}
		if (r == 0) {
			pid_t child = fork();

			if (!child)
				_exit((int)total & 1);
			while (child > 0 && waitpid(child, NULL, 0) < 0)
				;
		}
	}
	printf("%d\n", nr_signals > 0);
	return 0;
}
