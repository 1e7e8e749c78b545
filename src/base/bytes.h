/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A read cursor over borrowed bytes. Each reader below either steps past what it read and returns
 * true, or leaves the cursor and *ret as they were and returns false.
 */
struct bytes {
	const uint8_t *pos, *end; /* borrowed; pos <= end */
};

static inline struct bytes bytes_of(const void *data, size_t size)
{
	const uint8_t *p = data;

	return (struct bytes){p, size ? p + size : p}; /* NULL + 0 is not C */
}

/** [from, from + size) of a ring of power-of-two size, as at most two spans. */
static inline void bytes_of_ring(const uint8_t *ring, size_t ring_bytes, uint64_t from, size_t size,
				 struct bytes ret[2])
{
	size_t at = (size_t)(from & (ring_bytes - 1));
	size_t first = ring_bytes - at < size ? ring_bytes - at : size;

	ret[0] = bytes_of(ring + at, first);
	ret[1] = bytes_of(ring, size - first);
}

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->pos);
}

static inline bool bytes_skip(struct bytes *b, size_t n)
{
	if (bytes_left(b) < n)
		return false;
	b->pos += n;
	return true;
}

/** Split off the next @p n bytes as a cursor of their own. */
static inline bool bytes_take(struct bytes *b, size_t n, struct bytes *ret)
{
	if (bytes_left(b) < n)
		return false;
	*ret = (struct bytes){b->pos, b->pos + n};
	b->pos += n;
	return true;
}

/* Loads of a value in the host's byte order, or in the other one where @p swap: any alignment, no
 * bounds check. */

static inline uint16_t load_u16(const void *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t load_u32(const void *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t load_u64(const void *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

/* The same of a value that is little-endian on any host, as instructions of Arm are. */

static inline uint32_t load_le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load_le64(const uint8_t *p)
{
	return le64toh(load_u64(p, false));
}

static inline void store_le32(uint8_t *p, uint32_t v)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline bool bytes_u8(struct bytes *b, uint8_t *ret)
{
	if (bytes_left(b) < 1)
		return false;
	*ret = *b->pos++;
	return true;
}

static inline bool bytes_u16(struct bytes *b, bool swap, uint16_t *ret)
{
	if (bytes_left(b) < 2)
		return false;
	*ret = load_u16(b->pos, swap);
	b->pos += 2;
	return true;
}

static inline bool bytes_u32(struct bytes *b, bool swap, uint32_t *ret)
{
	if (bytes_left(b) < 4)
		return false;
	*ret = load_u32(b->pos, swap);
	b->pos += 4;
	return true;
}

static inline bool bytes_u64(struct bytes *b, bool swap, uint64_t *ret)
{
	if (bytes_left(b) < 8)
		return false;
	*ret = load_u64(b->pos, swap);
	b->pos += 8;
	return true;
}

/** Is [off, off + size) inside [0, limit)? No sum that could wrap. */
static inline bool range_fits(uint64_t off, uint64_t size, uint64_t limit)
{
	return off <= limit && size <= limit - off;
}

static inline uint64_t align_up(uint64_t v, uint64_t power_of_two)
{
	return (v + power_of_two - 1) & ~(power_of_two - 1);
}

#endif
