/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two signal handlers, the second on top of the first. With an argument: on another stack. */
#include <signal.h>
#include <stddef.h>

static volatile unsigned int sum;

__attribute__((noinline)) void burn(int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 3 + (unsigned int)i;
}

__attribute__((noinline)) void second(int number)
{
	(void)number;
	burn(4000000);
	sum++;
}

__attribute__((noinline)) void first(int number)
{
	(void)number;
	burn(2000000);
	raise(SIGUSR2);
	burn(2000000);
	sum++;
}

/* What SIGSEGV interrupts is a function's first instruction: the call has left nothing but its
 * return address. */
__attribute__((noinline)) void third(int number)
{
	(void)number;
	burn(4000000);
	__builtin_exit(0);
}

__attribute__((noinline)) int leaf(volatile int *at)
{
	return *at;
}

__attribute__((noinline)) int inner(int i)
{
	raise(SIGUSR1);
	return i + 1;
}

__attribute__((noinline)) int outer(int i)
{
	return inner(i) + 1;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction a = {.sa_handler = first, .sa_flags = argc > 1 ? SA_ONSTACK : 0};
	int n = 0;

	(void)argv;
	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = second;
	sigaction(SIGUSR2, &a, NULL);
	a.sa_handler = third;
	sigaction(SIGSEGV, &a, NULL);
	for (int i = 0; i < 8; i++)
		n += outer(i);
	return n + leaf(NULL);
}
