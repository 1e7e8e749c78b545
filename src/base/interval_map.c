/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/interval_map.h"

static char *element_at(const struct interval_map *m, size_t i)
{
	return (char *)m->data + i * m->type->bytes;
}

/* Elements [range) are replaced by @p nr others. */
static void splice(struct interval_map *m, struct interval_range range, const void *with, size_t nr)
{
	size_t after = m->nr - range.end;

	if (after)
		memmove(element_at(m, range.first + nr), element_at(m, range.end),
			after * m->type->bytes);
	if (nr)
		memcpy(element_at(m, range.first), with, nr * m->type->bytes);
	m->nr = range.first + nr + after;
}

/* The part [start, end) of element @p i. */
static bool put_part(const struct interval_map *m, void *ctx, size_t i, uint64_t start,
		     uint64_t end, char *to)
{
	memcpy(to, element_at(m, i), m->type->bytes);
	return m->type->cut(ctx, to, start, end);
}

bool interval_insert(struct interval_map *m, void *ctx, const void *element)
{
	_Alignas(uint64_t) char with[3 * INTERVAL_MAX_BYTES];
	const uint64_t *b = interval_bounds(m->type, element);
	struct interval_range r = interval_overlaps(m, b[0], b[1]);
	const uint64_t *first = r.first < r.end ? interval_at(m, r.first) : b;
	const uint64_t *last = r.first < r.end ? interval_at(m, r.end - 1) : b;
	size_t bytes = m->type->bytes;
	char *to = with;

	if (first[0] < b[0]) {
		if (!put_part(m, ctx, r.first, first[0], b[0], to))
			return false;
		to += bytes;
	}
	memcpy(to, element, bytes);
	to += bytes;
	if (last[1] > b[1]) {
		if (!put_part(m, ctx, r.end - 1, b[1], last[1], to))
			return false;
		to += bytes;
	}
	splice(m, r, with, (size_t)(to - with) / bytes);
	return true;
}

void interval_remove(struct interval_map *m, struct interval_range range)
{
	if (range.first < range.end)
		splice(m, range, NULL, 0);
}
