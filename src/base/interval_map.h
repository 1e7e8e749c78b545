/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_INTERVAL_MAP_H
#define BASE_INTERVAL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/search.h"

/*
 * Intervals of addresses, sorted and disjoint, in an array of the caller's: of structs that begin
 * with `uint64_t start, end` (end exclusive, above start), or of pointers to such. A new interval
 * takes the place of what it covers; what sticks out on either side stays.
 */

enum { INTERVAL_MAX_BYTES = 64 }; /* an element of the array */

/** What the array holds. A static const one, so that searches are as fast as hand-written ones. */
struct interval_type {
	size_t bytes; /* an element */
	bool is_pointer;
	/** Narrow @p element, a copy of one in the array, to [start, end), which lies within it.
	 * @return false: out of memory. */
	bool (*cut)(void *ctx, void *element, uint64_t start, uint64_t end);
};

struct interval_map {
	const struct interval_type *type;
	void *data; /* borrowed */
	size_t nr;
};

struct interval_range {
	size_t first, end; /* indexes, end exclusive */
};

/** Start and end of an element. */
static inline const uint64_t *interval_bounds(const struct interval_type *type, const void *element)
{
	const uint64_t *bounds = element;

	if (type->is_pointer)
		memcpy(&bounds, element, sizeof(bounds));
	return bounds;
}

static inline const uint64_t *interval_at(const struct interval_map *m, size_t i)
{
	return interval_bounds(m->type, (const char *)m->data + i * m->type->bytes);
}

/** Index of the first that ends above @p addr; nr where none does. */
static inline size_t interval_above(const struct interval_map *m, uint64_t addr)
{
	return search_first(m->nr, i, interval_at(m, i)[1] > addr);
}

/** Index of the one that covers @p addr; nr where none does. */
static inline size_t interval_find(const struct interval_map *m, uint64_t addr)
{
	size_t i = interval_above(m, addr);

	return i < m->nr && interval_at(m, i)[0] <= addr ? i : m->nr;
}

/** Those that overlap [start, end); an empty range stands where an element of it would be. O(log nr
 * + overlaps). */
static inline struct interval_range interval_overlaps(const struct interval_map *m, uint64_t start,
						      uint64_t end)
{
	struct interval_range r = {.first = interval_above(m, start)};

	for (r.end = r.first; r.end < m->nr && interval_at(m, r.end)[0] < end; r.end++)
		;
	return r;
}

/**
 * Put @p element in. The array has room for two more than m->nr, which changes.
 * @return false: type->cut had no memory; nothing was changed.
 */
bool interval_insert(struct interval_map *m, void *ctx, const void *element);

/** Take out whole elements. */
void interval_remove(struct interval_map *m, struct interval_range range);

#endif
