/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <endian.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <clew/err.h>

#include "base/attributes.h"

/*
 * A growing run of output bytes. Errors stick: after memory ran short every further add does
 * nothing, and is_failed says so; check it once at the end. Zeroed struct = empty.
 */
struct buf {
	char *data; /* not NUL-terminated but for buf_cstr() */
	size_t nr, cap;
	bool is_failed;
};

bool buf_reserve_slow(struct buf *b, size_t extra);

/** Room for @p extra more bytes after data + nr. */
static inline bool buf_reserve(struct buf *b, size_t extra)
{
	return b->cap - b->nr >= extra || buf_reserve_slow(b, extra);
}

static inline void buf_add(struct buf *b, const void *data, size_t size)
{
	if (!buf_reserve(b, size) || !size)
		return;
	memcpy(b->data + b->nr, data, size);
	b->nr += size;
}

static inline void buf_char(struct buf *b, char c)
{
	if (buf_reserve(b, 1))
		b->data[b->nr++] = c;
}

static inline void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

/** The bytes of a number, in the host's order; in little-endian order. */
static inline void buf_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void buf_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void buf_le32(struct buf *b, uint32_t v)
{
	buf_u32(b, htole32(v));
}

static inline void buf_le64(struct buf *b, uint64_t v)
{
	buf_u64(b, htole64(v));
}

/** @p n copies of @p c. */
void buf_fill(struct buf *b, char c, size_t n);

/** Lower-case hex without 0x, right-aligned with @p pad to at least @p width. */
void buf_hex(struct buf *b, uint64_t v, unsigned int width, char pad);
/** Two digits a byte. */
void buf_hex_bytes(struct buf *b, const void *bytes, size_t nr);
/** With '=' at the end where @p size is no multiple of 3. Spec: RFC 4648, "Base 64 Encoding". */
void buf_base64(struct buf *b, const void *bytes, size_t size);

enum { DEC_DIGITS = 20 };

/** Two digits of @p v < 100. */
static inline void dec_pair(char *to, unsigned int v)
{
	unsigned int tens = v * 205 >> 11;

	to[0] = (char)('0' + tens);
	to[1] = (char)('0' + v - 10 * tens);
}

/** The digits of @p v into the last of @p room. @return how many. */
unsigned int dec_digits(char room[DEC_DIGITS], uint64_t v);

/** Decimal, right-aligned with @p pad (' ' or '0') to at least @p width. */
void buf_dec(struct buf *b, uint64_t v, unsigned int width, char pad);

/** @p s right-aligned (@p width > 0) or left-aligned (@p width < 0) in a field, as printf's %*s. */
void buf_field(struct buf *b, const char *s, int width);

/** "12.000000345". */
void buf_seconds(struct buf *b, uint64_t ns);
/** "12.000345 ms". */
void buf_ms(struct buf *b, uint64_t ns);
void buf_printf(struct buf *b, const char *format, ...) CLEW_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *format, va_list args) CLEW_PRINTF(2, 0);

/** NUL after the text, not counted in nr. @return the text, or "" when out of memory. */
const char *buf_cstr(struct buf *b);

static inline void buf_clear(struct buf *b)
{
	b->nr = 0;
}

void buf_done(struct buf *b);

#endif
