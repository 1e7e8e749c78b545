/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"

#include <stdarg.h>

#define EACH_BYTE(b) (0x0101010101010101u * (b))

/* Bytes that the first byte of a sequence announces; 0: it cannot be first. */
static size_t announced(uint8_t first)
{
	if (first < 0x80)
		return 1;
	return first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

uint32_t escape_utf8_value(const uint8_t *s, size_t len)
{
	uint32_t v = len < 2 ? s[0] : s[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		v = v << 6 | (s[i] & 0x3f);
	return v;
}

/* Not a longer form than needed, not a surrogate, not above the last character. */
static bool is_character(uint32_t v, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	return v >= least[len] && v <= 0x10ffff && (v < 0xd800 || v > 0xdfff);
}

size_t escape_utf8(const uint8_t *s, size_t size)
{
	size_t len = size ? announced(s[0]) : 0;

	if (len > size)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return len && is_character(escape_utf8_value(s, len), len) ? len : 0;
}

static bool is_printable(uint32_t v)
{
	if (v < 0x20 || (v >= 0x7f && v < 0xa0))
		return false;
	if (v < 0x61c)
		return true;
	/* ends of lines and paragraphs, and what turns the direction of the text around it */
	return v != 0x61c && v != 0x200e && v != 0x200f && (v < 0x2028 || v > 0x202e) &&
	       (v < 0x2066 || v > 0x2069);
}

size_t escape_printable(const uint8_t *s, size_t size)
{
	size_t len = escape_utf8(s, size);

	return len && is_printable(escape_utf8_value(s, len)) ? len : 0;
}

static bool is_plain_word(const char *s)
{
	uint64_t v;

	memcpy(&v, s, 8);
	return !((v | (v - EACH_BYTE(0x20)) | (v + EACH_BYTE(1))) & EACH_BYTE(0x80));
}

size_t escape_plain_bytes(const char *s, size_t size)
{
	size_t at = 0;

	while (size - at >= 8 && is_plain_word(s + at))
		at += 8;
	while (at < size && (uint8_t)s[at] >= 0x20 && (uint8_t)s[at] < 0x7f)
		at++;
	return at;
}

/* A vector register of the baseline of x86-64 and aarch64. Signed: bytes above ASCII are negative.
 */
typedef int8_t bytes16 __attribute__((vector_size(16)));

static bytes16 unplain(const char *s)
{
	bytes16 v;

	memcpy(&v, s, sizeof(v));
	return (v < 0x20) | (v == 0x7f);
}

/* All of them? Most names are, so this looks without stopping; the last step may overlap the one
 * before. */
static bool is_plain(const char *s, size_t size)
{
	bytes16 bad = {0};
	uint64_t halves[2];

	if (size < sizeof(bad))
		return escape_plain_bytes(s, size) == size;
	for (size_t at = 0; size - at > sizeof(bad); at += sizeof(bad))
		bad |= unplain(s + at);
	bad |= unplain(s + size - sizeof(bad));
	memcpy(halves, &bad, sizeof(halves));
	return !(halves[0] | halves[1]);
}

bool escape_is_clean(const char *s, size_t size)
{
	if (is_plain(s, size))
		return true;
	for (size_t at = 0, len; at < size; at += len) {
		len = escape_printable((const uint8_t *)s + at, size - at);
		if (!len)
			return false;
	}
	return true;
}

void escape_add(struct buf *out, const char *s, size_t size)
{
	while (size) {
		size_t len = escape_plain_bytes(s, size);

		if (!len)
			len = escape_printable((const uint8_t *)s, size);
		if (len) {
			buf_add(out, s, len);
		} else {
			len = 1;
			buf_str(out, "\\x");
			buf_hex(out, (uint8_t)*s, 2, '0');
		}
		s += len;
		size -= len;
	}
}

void escape_since(struct buf *out, size_t from)
{
	struct buf raw = {0};

	if (out->is_failed || escape_is_clean(out->data + from, out->nr - from))
		return;
	buf_add(&raw, out->data + from, out->nr - from);
	out->nr = from;
	escape_add(out, raw.data, raw.nr);
	out->is_failed |= raw.is_failed;
	buf_done(&raw);
}

void escape_vprintf(struct buf *out, const char *format, va_list args)
{
	size_t from = out->nr, len = strlen(format);
	bool ends_line = len && format[len - 1] == '\n';

	buf_vprintf(out, format, args);
	if (out->is_failed)
		return;
	out->nr -= ends_line;
	escape_since(out, from);
	if (ends_line)
		buf_char(out, '\n');
}

void escape_printf(struct buf *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	escape_vprintf(out, format, args);
	va_end(args);
}

size_t escape_cut(const char *s, size_t size, size_t limit)
{
	if (size <= limit)
		return size;
	while (limit && ((uint8_t)s[limit] & 0xc0) == 0x80)
		limit--;
	return limit;
}

/* "?" where memory is short: never the name itself. */
static struct escaped copy_of(struct escape_memo *m, const char *s, size_t size)
{
	struct escaped e = {.text = "?", .bytes = 1};
	struct buf text = {0};
	uint32_t id;

	escape_add(&text, s, size);
	id = text.is_failed ? INTERN_FAILED : intern_add(&m->copies, text.data, text.nr);
	if (id != INTERN_FAILED)
		e = (struct escaped){s, intern_get(&m->copies, id), text.nr};
	buf_done(&text);
	return e;
}

const struct escaped *escape_memo_fill(struct escape_memo *m, struct escaped *slot, const char *s)
{
	size_t size = strlen(s);

	*slot = escape_is_clean(s, size) ? (struct escaped){s, s, size} : copy_of(m, s, size);
	return slot;
}

void escape_memo_done(struct escape_memo *m)
{
	intern_done(&m->copies);
}
