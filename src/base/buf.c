/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"

#include <stdio.h>

#include "base/mem.h"

bool buf_reserve_slow(struct buf *b, size_t extra)
{
	size_t want, next = b->cap ? b->cap : 256;
	char *p;

	if (b->is_failed || __builtin_add_overflow(b->nr, extra, &want) || want > SIZE_MAX / 2) {
		b->is_failed = true;
		return false;
	}
	while (next < want)
		next *= 2;
	p = mem_realloc_array(b->data, next, 1);
	if (!p) {
		b->is_failed = true;
		return false;
	}
	b->data = p;
	b->cap = next;
	return true;
}

void buf_fill(struct buf *b, char c, size_t n)
{
	if (!n || !buf_reserve(b, n))
		return;
	memset(b->data + b->nr, c, n);
	b->nr += n;
}

static void add_padded(struct buf *b, const char *text, unsigned int len, unsigned int width,
		       char pad)
{
	if (width > len)
		buf_fill(b, pad, width - len);
	buf_add(b, text, len);
}

void buf_hex(struct buf *b, uint64_t v, unsigned int width, char pad)
{
	char text[16];
	unsigned int at = sizeof(text);

	do {
		text[--at] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	add_padded(b, text + at, (unsigned int)sizeof(text) - at, width, pad);
}

void buf_hex_bytes(struct buf *b, const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < nr; i++)
		buf_hex(b, at[i], 2, '0');
}

void buf_base64(struct buf *b, const void *bytes, size_t size)
{
	const uint8_t *data = bytes;
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		uint32_t v = (uint32_t)data[i] << 16 | (n > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
			     (n > 2 ? data[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
				n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '='};

		buf_add(b, four, sizeof(four));
	}
}

unsigned int dec_digits(char room[DEC_DIGITS], uint64_t v)
{
	unsigned int at = DEC_DIGITS;

	for (; v >= 100; v /= 100) {
		at -= 2;
		dec_pair(room + at, (unsigned int)(v % 100));
	}
	if (v >= 10) {
		at -= 2;
		dec_pair(room + at, (unsigned int)v);
	} else {
		room[--at] = (char)('0' + v);
	}
	return DEC_DIGITS - at;
}

void buf_dec(struct buf *b, uint64_t v, unsigned int width, char pad)
{
	char text[DEC_DIGITS];
	unsigned int nr = dec_digits(text, v);

	add_padded(b, text + DEC_DIGITS - nr, nr, width, pad);
}

void buf_field(struct buf *b, const char *s, int width)
{
	size_t len = strlen(s), want = (size_t)(width < 0 ? -width : width);

	if (width > 0 && want > len)
		buf_fill(b, ' ', want - len);
	buf_add(b, s, len);
	if (width < 0 && want > len)
		buf_fill(b, ' ', want - len);
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int len;

	if (!buf_reserve(b, 128))
		return;
	va_copy(again, args);
	len = vsnprintf(b->data + b->nr, b->cap - b->nr, format, args);
	if (len >= 0 && (size_t)len >= b->cap - b->nr && buf_reserve(b, (size_t)len + 1))
		vsnprintf(b->data + b->nr, b->cap - b->nr, format, again);
	va_end(again);
	if (len < 0)
		b->is_failed = true;
	else if (!b->is_failed)
		b->nr += (size_t)len;
}

void buf_seconds(struct buf *b, uint64_t ns)
{
	buf_dec(b, ns / 1000000000, 0, ' ');
	buf_char(b, '.');
	buf_dec(b, ns % 1000000000, 9, '0');
}

void buf_ms(struct buf *b, uint64_t ns)
{
	buf_dec(b, ns / 1000000, 0, ' ');
	buf_char(b, '.');
	buf_dec(b, ns % 1000000, 6, '0');
	buf_str(b, " ms");
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

const char *buf_cstr(struct buf *b)
{
	if (!buf_reserve(b, 1))
		return "";
	b->data[b->nr] = '\0';
	return b->data;
}

void buf_done(struct buf *b)
{
	mem_free(b->data);
	*b = (struct buf){0};
}
