// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Recursion to a given depth through frames of several kinds, with library code at its end.
 * Usage: recurse SECONDS DEPTH
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;
static char *names[256];

static int cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

__attribute__((noinline)) static void work(void)
{
	char buf[64];

	for (int i = 0; i < 256; i++) {
		snprintf(buf, sizeof(buf), "%d", i * 7919 % 1009);
		free(names[i]);
		names[i] = strdup(buf);
		if (!names[i])
			exit(1);
	}
	qsort(names, 256, sizeof(*names), cmp);
	sink++;
}

#define PART(name, next, size)                              \
 __attribute__((noinline)) static void name(int depth)      \
 {                                                          \
  volatile char pad[size];                                  \
  pad[0] = 1;                                               \
  if (depth)                                                \
   next(depth - 1);                                         \
  else                                                      \
   work();                                                  \
  sink += (unsigned long)pad[0]; /* so that it is a call */ \
 }

static void f3(int depth);
PART(f2, f3, 16)
PART(f1, f2, 100)
PART(f0, f1, 40)
PART(f3, f0, depth + 8)

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int depth = argc > 2 ? atoi(argv[2]) : 100;
	clock_t start = clock();

	while ((double)(clock() - start) < seconds * (double)CLOCKS_PER_SEC)
		f0(depth);
	return 0;
}
