/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_HEAP_H
#define OS_HEAP_H

#include "base/vec.h"

/*
 * Memory for tables that grow and are looked up at random: huge pages where the system has them,
 * for such tables spend as much time on address translation as on themselves. What one of them
 * gives up when it grows the next one gets, or the system. One thread at a time.
 */
enum { OS_HEAP_CLASSES = 40 };

struct os_heap {
	void *mapping;
	size_t mapping_bytes;
	char *base;
	size_t nr, size;             /* bytes given out, and there are */
	void *free[OS_HEAP_CLASSES]; /* by size: the first, which begins with the next */
};

/** Address space for @p max bytes, of which nothing is used yet; less where that is refused.
 * @return false: none to be had. */
bool os_heap_init(struct os_heap *h, size_t max);
/** All that was allocated from it is gone. */
void os_heap_done(struct os_heap *h);

/**
 * Like realloc(). @p old: NULL, or what had *bytes bytes. *bytes: in, what is wanted; out, what it
 * has. @return NULL: no room; @p old is as it was.
 */
void *os_heap_grow(struct os_heap *h, void *old, size_t old_bytes, size_t *bytes);
/** @p p: NULL, or what has @p bytes. */
void os_heap_free(struct os_heap *h, void *p, size_t bytes);

/** vec_reserve() for a vec that is from this heap only; there is no vec_done(). */
#define os_heap_reserve(h, v, n) \
 ((n) <= (v)->cap ||             \
  os_heap_grow_vec_((h), (void **)&(v)->data, &(v)->cap, (n), sizeof(*(v)->data)))

bool os_heap_grow_vec_(struct os_heap *h, void **data, size_t *cap, size_t want, size_t elem_size);

#endif
