/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Branches of all kinds: work [ROUNDS]. Sorting with a callback, deep recursion, call tables, a
 * switch, strings, numbers printed, floating point, longjmp. */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int seed = 7;
static jmp_buf top;

static unsigned int next(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static int compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

__attribute__((noinline)) static unsigned int deep(unsigned int n, unsigned int jump)
{
	if (n == jump)
		longjmp(top, 1);
	return n < 2 ? n : deep(n - 1, jump) + (n & 3 ? 1 : deep(n / 4, jump));
}

static unsigned int add(unsigned int x)
{
	return x + 3;
}
static unsigned int twist(unsigned int x)
{
	return x ^ x << 3;
}
static unsigned int half(unsigned int x)
{
	return x / 2 + 1;
}
static unsigned int (*const table[])(unsigned int) = {add, twist, half, add};

static unsigned int choose(unsigned int x)
{
	switch (x % 11) {
	case 0:
		return x * 3;
	case 1:
		return x - 7;
	case 2:
		return (unsigned int)strlen("abc") + x;
	case 3:
		return x >> 1;
	case 4:
		return ~x;
	case 5:
		return x * x;
	case 6:
		return x % 13;
	case 7:
		return (unsigned int)sqrt((double)x);
	case 8:
		return x ^ 0x55;
	case 9:
		return add(x);
	}
	return 1;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1, sum = 0, v[512];
	char text[64];

	for (unsigned int r = 0; r < rounds; r++) {
		for (unsigned int i = 0; i < 512; i++)
			v[i] = next();
		qsort(v, 512, sizeof(v[0]), compare);
		for (unsigned int i = 0; i < 512; i++)
			sum = table[v[i] & 3](choose(sum + v[i]));
		sum += deep(40 + r % 20, ~0u);
		if (!setjmp(top))
			sum += deep(30, 3 + r % 5);
		snprintf(text, sizeof(text), "%u %s %g", sum, "round", (double)sum / 3);
		sum += (unsigned int)strlen(text);
	}
	printf("%u\n", sum);
	return 0;
}
