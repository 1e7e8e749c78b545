/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program whose best layout depends on its data: step() is large and hot at one of its two calls,
 * and mostly takes one branch. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define R(x, k) ((x) << (k) | (x) >> (64 - (k)))
#ifndef MORE
# define MORE(x) (x) /* to be slow in often(), too: -D'MORE(x)=...' */
#endif

static uint64_t step(uint64_t x, uint64_t y)
{
	if (x % 64 == 63) {
		for (int i = 0; i < 3; i++)
			y = R(y, 9) * 0x9e3779b97f4a7c15ull + R(x, 3) - (y >> 5 ^ x << 4) * 77 +
			    R(y, 29) - (R(x, 61) & y);
		return y;
	}
	x += R(y, 7) ^ 0x9e3779b97f4a7c15ull;
	y ^= R(x, 13) + (x >> 3);
	x += R(y, 17) ^ 0xbf58476d1ce4e5b9ull;
	y ^= R(x, 19) + (x >> 5);
	x += R(y, 23) ^ 0x94d049bb133111ebull;
	y ^= R(x, 29) + (x >> 7);
	x += R(y, 31) ^ 0xd6e8feb86659fd93ull;
	y ^= R(x, 37) + (x >> 9);
	x += R(y, 41) ^ 0xff51afd7ed558ccdull;
	y ^= R(x, 43) + (x >> 11);
	x += R(y, 47) ^ 0xc4ceb9fe1a85ec53ull;
	y ^= R(x, 53) + (x >> 13);
	x += R(y, 57) ^ 0x2545f4914f6cdd1dull;
	y ^= R(x, 59) + (x >> 15);
	x += R(y, 61) ^ 0x369dea0f31a53f85ull;
	y ^= R(x, 3) + (x >> 17);
	x += R(y, 5) ^ 0x9fb21c651e98df25ull;
	y ^= R(x, 11) + (x >> 19);
	return x + y;
}

__attribute__((noinline)) uint64_t often(uint64_t n, uint64_t x)
{
	for (uint64_t i = 0; i < n; i++)
		x = step(MORE(x), i);
	return x;
}

__attribute__((noinline)) uint64_t seldom(uint64_t x)
{
	return step(x, 1) ^ step(x + 2, 3);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, x = 1;

	for (int i = 0; i < 10; i++)
		x = seldom(often(n, x));
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
