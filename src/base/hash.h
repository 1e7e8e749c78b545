/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 64x64 -> 128 bit multiplication, folded: the mixing step of the wyhash family. A factor of 0,
 * which an input may aim at, must not wipe out the other: both are added again. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 r = (unsigned __int128)a * b;

	return a ^ b ^ (uint64_t)r ^ (uint64_t)(r >> 64);
}

static inline uint64_t hash_u64(uint64_t v)
{
	return hash_mix(v ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
}

static inline uint64_t hash_two(uint64_t a, uint64_t b)
{
	return hash_mix(a ^ 0xa0761d6478bd642fu, b ^ 0xe7037ed1a0b428dbu);
}

/** Not stable across releases or byte orders: for tables in memory only. */
static inline uint64_t hash_bytes(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t h = size ^ 0x8ebc6af09c88c6e3u, v = 0;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = hash_two(h, v);
	}
	v = 0;
	if (size)
		memcpy(&v, p, size);
	return hash_two(h, v);
}

#endif
