/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * A fixed amount of work, 40 to 110 frames deep, in eight functions that call each other in a
 * changing order. Prints the seconds it took.
 *
 * Usage: deep ROUNDS
 */
enum { NR_FUNCTIONS = 8, SHALLOW = 40, DEEP = 110 };

static unsigned (*volatile functions[NR_FUNCTIONS])(unsigned x, int left);

static unsigned work(unsigned x)
{
	for (unsigned i = 0; i < 1500; i++) {
		x = x * 1664525U + 1013904223U;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static unsigned go_on(unsigned x, int left)
{
	return left ? functions[x >> 24 & (NR_FUNCTIONS - 1)](x * 69069 + 1, left - 1) : work(x);
}

/* Frames of different size, which hold something. */
#define FUNCTION(n, bytes)                                                       \
 static __attribute__((noinline)) unsigned f##n(unsigned x, int left)            \
 {                                                                               \
  volatile unsigned char here[bytes];                                            \
  here[x & 7] = (unsigned char)x;                                                \
  if (left > DEEP - SHALLOW && (x & 3) == 0) /* some time is spent on the way */ \
   x = work(x) | 1;                                                              \
  return go_on(x, left) + here[x & 7];                                           \
 }
FUNCTION(0, 16)
FUNCTION(1, 40)
FUNCTION(2, 24)
FUNCTION(3, 96)
FUNCTION(4, 8)
FUNCTION(5, 200)
FUNCTION(6, 64)
FUNCTION(7, 32)

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10000;
	struct timespec from, to;
	unsigned x = 1;

	functions[0] = f0, functions[1] = f1, functions[2] = f2, functions[3] = f3;
	functions[4] = f4, functions[5] = f5, functions[6] = f6, functions[7] = f7;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long i = 0; i < rounds; i++) /* main, its callers and work() are frames, too */
		x = f0(x, SHALLOW - 5 + (int)(i % (DEEP - SHALLOW)));
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.6f\n",
	       (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
	return x == 42;
}
