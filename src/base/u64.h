/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_U64_H
#define BASE_U64_H

#include <stdint.h>

/** The sum; UINT64_MAX where it has no room. */
static inline uint64_t u64_sum(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

/** -1, 0 or 1, as qsort() wants it. */
static inline int u64_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
