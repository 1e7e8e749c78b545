/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * System calls that a recording must leave alone. Prints how many were made, and how many came back
 * short or interrupted: 0 of either without a signal.
 *
 * Usage: truth_calls read MIB TIMES    one long read() of /dev/zero, by deep1 .. deep8
 *        truth_calls block TIMES       calls that sleep: nanosleep, poll, select, epoll, futex,
 * pipe
 */
static long nr_calls, nr_short, nr_interrupted;

static void note(long got, long wanted, int error)
{
	nr_calls++;
	if (got < 0 && error == EINTR)
		nr_interrupted++;
	else if (got != wanted)
		nr_short++;
}

static __attribute__((noinline)) void deep8(int fd, char *to, size_t bytes)
{
	ssize_t got = read(fd, to, bytes);

	note(got, (long)bytes, errno);
}

/* Something is left to do after the call, so that it is no jump. */
#define DEEP(me, next)                                                          \
 static __attribute__((noinline)) void deep##me(int fd, char *to, size_t bytes) \
 {                                                                              \
  volatile int n = me;                                                          \
  deep##next(fd, to, bytes);                                                    \
  n++;                                                                          \
 }
DEEP(7, 8)
DEEP(6, 7)
DEEP(5, 6)
DEEP(4, 5)
DEEP(3, 4)
DEEP(2, 3)
DEEP(1, 2)

static void read_long(size_t mib, int times)
{
	size_t bytes = mib << 20;
	char *to = malloc(bytes);
	int fd = open("/dev/zero", O_RDONLY);

	if (!to || fd < 0) {
		perror("truth_calls");
		exit(1);
	}
	memset(to, 1, bytes);
	for (int i = 0; i < times; i++)
		deep1(fd, to, bytes);
	close(fd);
	free(to);
}

static atomic_bool is_fed;

static void *feed(void *arg)
{
	struct timespec t = {.tv_nsec = 500000};
	int fd = *(int *)arg;

	while (!atomic_load(&is_fed) && write(fd, "x", 1) == 1)
		nanosleep(&t, NULL);
	return NULL;
}

static void block(int times)
{
	struct timespec ms = {.tv_nsec = 1000000};
	int ends[2], ep = epoll_create1(0), word = 0;
	struct epoll_event event;
	pthread_t feeder;
	char c;

	if (pipe(ends))
		exit(1);
	pthread_create(&feeder, NULL, feed, &ends[1]);
	for (int i = 0; i < times; i++) {
		struct timeval tv = {.tv_usec = 1000};

		note(nanosleep(&ms, NULL), 0, errno);
		note(poll(NULL, 0, 1), 0, errno);
		note(select(0, NULL, NULL, NULL, &tv), 0, errno);
		note(epoll_wait(ep, &event, 1, 1), 0, errno);
		if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ms, NULL, 0) < 0 &&
		    errno == ETIMEDOUT)
			note(0, 0, 0);
		else
			note(-1, 0, errno);
		note(read(ends[0], &c, 1), 1, errno);
	}
	atomic_store(&is_fed, true);
	pthread_join(feeder, NULL);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "read"))
		read_long(strtoul(argv[2], NULL, 10), atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "block"))
		block(atoi(argv[2]));
	else
		return 2;
	printf("calls %ld short %ld interrupted %ld\n", nr_calls, nr_short, nr_interrupted);
	return 0;
}
