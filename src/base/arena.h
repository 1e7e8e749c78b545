/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory that lives and dies together: allocations are never freed alone. One thread at a time.
 * A zeroed struct is an empty arena.
 */
struct arena {
	struct arena_chunk *chunks; /* newest first */
	uint8_t *pos, *end;         /* free part of the newest chunk */
	size_t used_bytes;          /* all chunks */
};

/** Aligned to 16; NULL when memory is short. O(1) but for one chunk allocation now and then. */
void *arena_alloc(struct arena *a, size_t size);

/** arena_alloc, zeroed. */
void *arena_zalloc(struct arena *a, size_t size);

/** A copy of @p size bytes, unaligned, followed by a NUL. */
char *arena_strndup(struct arena *a, const char *s, size_t size);

/** Free everything; the arena is empty and usable again. */
void arena_done(struct arena *a);

#endif
