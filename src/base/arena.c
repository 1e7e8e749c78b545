/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/mem.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
	struct arena_chunk *next;
	alignas(ALIGNMENT) uint8_t data[];
};

static void *alloc_chunk(struct arena *a, size_t size)
{
	size_t want = size > CHUNK_BYTES / 4 ? size : CHUNK_BYTES;
	struct arena_chunk *c;
	size_t total;

	if (__builtin_add_overflow(sizeof(*c), want, &total))
		return NULL;
	c = mem_alloc(total);
	if (!c)
		return NULL;
	a->used_bytes += total;
	if (want != CHUNK_BYTES && a->chunks) { /* a large one: keep filling the chunk in use */
		c->next = a->chunks->next;
		a->chunks->next = c;
		return c->data;
	}
	c->next = a->chunks;
	a->chunks = c;
	a->pos = c->data + size;
	a->end = c->data + want;
	return c->data;
}

static void *alloc_aligned(struct arena *a, size_t size, size_t alignment)
{
	size_t pad = -(uintptr_t)a->pos & (alignment - 1);
	uint8_t *p;

	if ((size_t)(a->end - a->pos) < pad || (size_t)(a->end - a->pos) - pad < size)
		return alloc_chunk(a, size);
	p = a->pos + pad;
	a->pos = p + size;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	return alloc_aligned(a, size, ALIGNMENT);
}

void *arena_zalloc(struct arena *a, size_t size)
{
	void *p = arena_alloc(a, size);

	return p ? memset(p, 0, size) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t size)
{
	char *p;

	if (size == SIZE_MAX)
		return NULL;
	p = alloc_aligned(a, size + 1, 1);
	if (!p)
		return NULL;
	if (size)
		memcpy(p, s, size);
	p[size] = '\0';
	return p;
}

void arena_done(struct arena *a)
{
	struct arena_chunk *next;

	for (struct arena_chunk *c = a->chunks; c; c = next) {
		next = c->next;
		mem_free(c);
	}
	*a = (struct arena){0};
}
