/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report_escape.h"

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the printable character at @p s: 0 when it is none. */
static size_t printable(const unsigned char *s, size_t size)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] < 0x20 || s[0] == 0x7f || s[0] > 0xf4 || len > size)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (!is_tail(s[i]))
			return 0;
	}
	if (s[0] == 0xc2 && s[1] < 0xa0) /* the other control characters */
		return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0; /* too long a form, a surrogate, or above U+10FFFF */
	return len;
}

void report_escape(struct buf *out, const char *s, size_t size)
{
	const unsigned char *p = (const unsigned char *)s;

	while (size) {
		size_t len = printable(p, size);

		if (len) {
			buf_add(out, p, len);
		} else {
			len = 1;
			buf_str(out, "\\x");
			buf_hex(out, *p, 2, '0');
		}
		p += len;
		size -= len;
	}
}

size_t report_columns(const char *s, size_t size)
{
	size_t nr = 0;

	for (size_t i = 0; i < size; i++)
		nr += !is_tail((unsigned char)s[i]);
	return nr;
}
