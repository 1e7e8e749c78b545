/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Short system calls in a loop, 20 frames deep.
 *
 * Usage: calls ROUNDS
 */
enum { DEPTH = 16 }; /* below main and its three callers */

static __attribute__((noinline)) long call(int fd, long rounds)
{
	char bytes[256];
	long sum = 0;

	for (long i = 0; i < rounds; i++) {
		sum += getppid();
		sum += read(fd, bytes, sizeof(bytes));
	}
	return sum;
}

static __attribute__((noinline)) long descend(int fd, long rounds, int left)
{
	volatile long here = left > 1 ? descend(fd, rounds, left - 1) : call(fd, rounds);

	return here + left;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);

	return fd < 0 || !descend(fd, argc > 1 ? atol(argv[1]) : 1000, DEPTH - 1);
}
