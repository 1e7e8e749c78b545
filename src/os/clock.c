/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/clock.h"

#include <stdio.h>
#include <time.h>

enum { NS_PER_S = 1000000000, NS_PER_10_MS = 10000000 };

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
}

uint64_t os_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ns_of(&t);
}

uint64_t os_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return ns_of(&t);
}

bool os_clock_read(int clockid, uint64_t *ret_ns, uint64_t *ret_resolution_ns)
{
	struct timespec now, step;

	if (clock_gettime(clockid, &now) || clock_getres(clockid, &step))
		return false;
	*ret_ns = ns_of(&now);
	*ret_resolution_ns = ns_of(&step);
	return true;
}

void os_clock_stamp(char *ret, unsigned int size)
{
	struct timespec t;
	struct tm tm;
	char date[32];

	clock_gettime(CLOCK_REALTIME, &t);
	localtime_r(&t.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y%m%d%H%M%S", &tm);
	snprintf(ret, size, "%s%02ld", date, t.tv_nsec / NS_PER_10_MS);
}
