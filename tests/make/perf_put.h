/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_PERF_PUT_H
#define TESTS_MAKE_PERF_PUT_H

#include "base/buf.h"
#include "base/bytes.h"

/** Output bytes with the byte order of the machine they pretend to come from. */
struct perf_put {
	struct buf buf;
	bool big;
};

static inline void put_number(struct perf_put *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		buf_char(&p->buf, (char)(v >> 8 * (p->big ? bytes - 1 - i : i)));
}

static inline void put_u8(struct perf_put *p, uint8_t v)
{
	put_number(p, v, 1);
}

static inline void put_u16(struct perf_put *p, uint16_t v)
{
	put_number(p, v, 2);
}

static inline void put_u32(struct perf_put *p, uint32_t v)
{
	put_number(p, v, 4);
}

static inline void put_u64(struct perf_put *p, uint64_t v)
{
	put_number(p, v, 8);
}

static inline void put_bytes(struct perf_put *p, struct bytes b)
{
	buf_add(&p->buf, b.pos, bytes_left(&b));
}

static inline void put_zeros(struct perf_put *p, size_t n)
{
	buf_fill(&p->buf, 0, n);
}

/** Zeros up to the next multiple of @p alignment, counted from @p start. */
static inline void put_align(struct perf_put *p, size_t start, size_t alignment)
{
	put_zeros(p, -(p->buf.nr - start) & (alignment - 1));
}

/** Text and NUL, then zeros to 8: as the kernel ends a record with a string. */
static inline void put_text(struct perf_put *p, const char *s, size_t start)
{
	buf_add(&p->buf, s, strlen(s) + 1);
	put_align(p, start, 8);
}

/** The strings of header features: u32 length, text, zeros to a multiple of 64. */
static inline void put_name(struct perf_put *p, const char *s)
{
	size_t size = align_up(strlen(s) + 1, 64);

	put_u32(p, (uint32_t)size);
	buf_add(&p->buf, s, strlen(s));
	put_zeros(p, size - strlen(s));
}

static inline struct bytes put_result(const struct perf_put *p)
{
	return bytes_of(p->buf.data, p->buf.nr);
}

#endif
