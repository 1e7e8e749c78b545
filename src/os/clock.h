/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS 1000000ull

/** CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds. */
uint64_t os_clock_ns(void);
uint64_t os_wall_ns(void);

/** Any clock of clock_gettime(2), by number. @return false: no such clock. */
bool os_clock_read(int clockid, uint64_t *ret_ns, uint64_t *ret_resolution_ns);

/** Local time as YYYYMMDDhhmmss and hundredths, as perf stamps the names of its files. */
void os_clock_stamp(char *ret, unsigned int size);

#endif
