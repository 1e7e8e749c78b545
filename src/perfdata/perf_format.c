/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_format.h"

#include <string.h>

enum { MAX_TEXT = 1 << 16, MAX_NAME = 128 };

/** Step past the next @p word. @return false: it does not come. */
static bool skip_to(struct bytes *b, const char *word)
{
	size_t n = strlen(word);
	const uint8_t *p = b->pos;

	for (; (size_t)(b->end - p) >= n; p++) {
		p = memchr(p, word[0], (size_t)(b->end - p) - n + 1);
		if (!p)
			return false;
		if (!memcmp(p, word, n)) {
			b->pos = p + n;
			return true;
		}
	}
	return false;
}

static bool read_number(struct bytes *b, uint64_t *ret)
{
	const uint8_t *p = b->pos;
	uint64_t v = 0;

	for (; p < b->end && *p >= '0' && *p <= '9' && v < UINT32_MAX; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (p == b->pos)
		return false;
	b->pos = p;
	*ret = v;
	return true;
}

static bool join(char *ret, const char *a, const char *b, const char *c)
{
	if (strlen(a) + strlen(b) + strlen(c) >= MAX_NAME)
		return false;
	strcpy(ret, a);
	strcat(ret, b);
	strcat(ret, c);
	return true;
}

bool perf_format_find(struct bytes tracing_data, const char *name, struct bytes *ret,
		      uint64_t *ret_id)
{
	struct bytes b = tracing_data, end;
	char line[MAX_NAME];

	if (!b.pos || !join(line, "name: ", name, "\nID: ") || !skip_to(&b, line) ||
	    !read_number(&b, ret_id))
		return false;
	end = b;
	if (skip_to(&end, "\nprint fmt:"))
		b.end = end.pos;
	if (b.end - b.pos > MAX_TEXT)
		b.end = b.pos + MAX_TEXT;
	*ret = b;
	return true;
}

bool perf_format_field(struct bytes text, const char *name, uint32_t *ret_offset,
		       uint32_t *ret_size)
{
	char line[MAX_NAME];
	uint64_t offset, size;

	if (!join(line, " ", name, ";\toffset:") || !skip_to(&text, line) ||
	    !read_number(&text, &offset) || !skip_to(&text, "\tsize:") ||
	    !read_number(&text, &size) || offset > UINT16_MAX || size > UINT16_MAX)
		return false;
	*ret_offset = (uint32_t)offset;
	*ret_size = (uint32_t)size;
	return true;
}
