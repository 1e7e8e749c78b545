/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bare_i386: without a C library, as 32-bit code is built where there is none: sorting with a
 * callback, recursion, calls by a table, a switch, system calls. */

static unsigned int seed = 7;

static unsigned int next(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

__attribute__((noinline)) static int call_kernel(int nr, int arg)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(arg) : "memory");
	return ret;
}

static int compare(unsigned int a, unsigned int b)
{
	return a < b ? -1 : a > b;
}

__attribute__((noinline)) static void sort(unsigned int *v, int nr,
					   int (*less)(unsigned int, unsigned int))
{
	int i = 0, j = nr - 1;
	unsigned int mid = v[nr / 2];

	while (i <= j) {
		while (less(v[i], mid) < 0)
			i++;
		while (less(v[j], mid) > 0)
			j--;
		if (i <= j) {
			unsigned int t = v[i];

			v[i++] = v[j];
			v[j--] = t;
		}
	}
	if (j > 0)
		sort(v, j + 1, less);
	if (i < nr - 1)
		sort(v + i, nr - i, less);
}

__attribute__((noinline)) static unsigned int deep(unsigned int n)
{
	return n < 2 ? n : deep(n - 1) + deep(n / 3);
}

static unsigned int add(unsigned int x)
{
	return x + 3;
}
static unsigned int twist(unsigned int x)
{
	return x ^ x << 3;
}
static unsigned int (*const table[])(unsigned int) = {add, twist, deep};

__attribute__((noinline)) static unsigned int choose(unsigned int x)
{
	switch (x % 7) {
	case 0:
		return x * 3;
	case 1:
		return table[x % 2](x);
	case 2:
		return (unsigned int)call_kernel(20, 0); /* getpid */
	case 3:
		return x >> 1;
	case 4:
		return ~x;
	case 5:
		return table[2](x % 60);
	default:
		return x + 11;
	}
}

void _start(void);
void _start(void)
{
	static unsigned int v[500];
	unsigned int sum = 0;

	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 500; i++)
			v[i] = next();
		sort(v, 500, compare);
		for (int i = 0; i < 500; i++)
			sum += choose(v[i]);
	}
	call_kernel(1, sum & 1); /* exit */
	__builtin_unreachable();
}
