/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text_columns.h"

#include "base/escape.h"

struct span {
	uint32_t first, last;
};

/* clang-format off */
static const struct span combining[] = {
	{0x300,  0x36f},  {0x483,  0x487},  {0x591,  0x5bd},  {0x64b,  0x65f}, {0x1ab0, 0x1ace},
	{0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20f0}, {0xfe20, 0xfe2f},
};
/* Blocks as a whole where most of their characters are wide. */
static const struct span wide[] = {
	{0x1100,  0x115f},  {0x231a,  0x231b},  {0x2329,  0x232a},  {0x23e9,  0x23f3},  {0x25fd,  0x25fe},
	{0x2600,  0x27bf},  {0x2b1b,  0x2b55},  {0x2e80,  0xa4cf},  {0xa960,  0xa97f},  {0xac00,  0xd7a3},
	{0xf900,  0xfaff},  {0xfe10,  0xfe1f},  {0xfe30,  0xfe6f},  {0xff00,  0xff60},  {0xffe0,  0xffe6},
	{0x16fe0, 0x1b2ff}, {0x1f000, 0x1faff}, {0x20000, 0x3ffff},
};
/* clang-format on */

#define IS_IN(v, spans) is_in(v, spans, sizeof(spans) / sizeof((spans)[0]))

static bool is_in(uint32_t v, const struct span *spans, size_t nr)
{
	for (size_t i = 0; i < nr && spans[i].first <= v; i++) {
		if (v <= spans[i].last)
			return true;
	}
	return false;
}

static size_t columns_of(uint32_t v)
{
	if (v < combining[0].first)
		return 1;
	return IS_IN(v, combining) ? 0 : IS_IN(v, wide) ? 2 : 1;
}

size_t text_cut(const char *s, size_t size, size_t columns, size_t *ret_columns)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t at = 0, used = 0;

	while (at < size) {
		size_t left = columns - used;
		size_t plain = escape_plain_bytes(s + at, size - at < left ? size - at : left);
		size_t len, more;

		used += plain;
		at += plain;
		if (at == size)
			break;
		len = escape_utf8(p + at, size - at);
		more = len ? columns_of(escape_utf8_value(p + at, len)) : 1;
		if (more > columns - used)
			break;
		used += more;
		at += len ? len : 1;
	}
	if (ret_columns)
		*ret_columns = used;
	return at;
}

size_t text_columns(const char *s, size_t size)
{
	size_t columns;

	text_cut(s, size, SIZE_MAX, &columns);
	return columns;
}

/* Where the line at @p s is to be broken: after the last blank that fits, but not among those it
 * begins with. */
static size_t break_at(const char *s, size_t fits)
{
	size_t at = fits, begun = 0;

	while (begun < fits && (s[begun] == ' ' || s[begun] == '#'))
		begun++;
	while (at > begun && s[at] != ' ' && s[at - 1] != ' ')
		at--;
	return at > begun ? at : fits;
}

static void fold_line(struct buf *b, const char *s, size_t size, size_t columns)
{
	static const char indent[] = "#         ";
	size_t width = sizeof(indent) - 1, fits = text_cut(s, size, columns, NULL);
	bool is_comment = size && s[0] == '#';

	width = width <= columns / 2 ? width : 2;
	while (fits < size) {
		/* One character at least, however narrow it is here. */
		size_t at = fits ? break_at(s, fits) : escape_utf8((const uint8_t *)s, size);

		at = at ? at : 1;
		buf_add(b, s, at);
		while (b->nr && b->data[b->nr - 1] == ' ')
			b->nr--;
		for (s += at, size -= at; size && *s == ' '; size--)
			s++;
		if (!size)
			return;
		buf_char(b, '\n');
		buf_char(b, is_comment ? '#' : ' ');
		buf_add(b, indent + 1, width - 1);
		fits = text_cut(s, size, columns > width ? columns - width : 0, NULL);
	}
	buf_add(b, s, size);
}

void text_fold(struct buf *b, size_t from, size_t columns)
{
	struct buf raw = {0};

	if (!columns || b->is_failed || from == b->nr)
		return;
	buf_add(&raw, b->data + from, b->nr - from);
	b->nr = from;
	for (size_t at = 0; !raw.is_failed && at < raw.nr;) {
		const char *end = memchr(raw.data + at, '\n', raw.nr - at);
		size_t size = end ? (size_t)(end - raw.data) - at : raw.nr - at;

		fold_line(b, raw.data + at, size, columns);
		if (end)
			buf_char(b, '\n');
		at += size + 1;
	}
	b->is_failed |= raw.is_failed;
	buf_done(&raw);
}
