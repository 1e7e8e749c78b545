/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_SPLITMIX_H
#define TESTS_MAKE_SPLITMIX_H

#include <stdint.h>

/** SplitMix64: the next of a sequence that is the same everywhere. @p state: any seed. */
static inline uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/** 0 to @p n - 1. */
static inline uint32_t splitmix_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((splitmix64(state) >> 32) * n >> 32);
}

#endif
