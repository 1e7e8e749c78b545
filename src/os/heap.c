/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/heap.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
# define HAS_ASAN 1
#elif defined(__has_feature)
# if __has_feature(address_sanitizer)
#  define HAS_ASAN 1
# endif
#endif
#ifdef HAS_ASAN
# include <sanitizer/asan_interface.h>
#else
# define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
# define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum {
	HUGE = 2 << 20,
	SMALL_BYTES = 256 << 10, /* the first, in pages of the usual size: most heaps stay small */
	FIRST_CLASS = 12,
	EXTRA = 64, /* over a power of two: tables have some room after their end */
	MIN_BYTES = 16 << 20,
	RETURNED_BYTES = 4 << 20, /* chunks from this size on go back to the system */
	PAGE = 4096,
};

static size_t bytes_of_class(unsigned int k)
{
	return ((size_t)1 << (FIRST_CLASS + k)) + EXTRA;
}

/** @return OS_HEAP_CLASSES: too much. */
static unsigned int class_of(size_t bytes)
{
	unsigned int k = 0;

	while (k < OS_HEAP_CLASSES && bytes_of_class(k) < bytes)
		k++;
	return k;
}

bool os_heap_init(struct os_heap *h, size_t max)
{
	void *p = MAP_FAILED;
	char *huge;

	*h = (struct os_heap){0};
	for (h->size = max > MIN_BYTES ? max : MIN_BYTES; h->size >= MIN_BYTES; h->size /= 2) {
		h->mapping_bytes = h->size + HUGE;
		p = mmap(NULL, h->mapping_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED)
			break;
	}
	if (p == MAP_FAILED)
		return false;
	h->mapping = p;
	huge = (char *)(((uintptr_t)p + SMALL_BYTES + HUGE - 1) & ~((uintptr_t)HUGE - 1));
	h->base = huge - SMALL_BYTES;
	/* Refused: then pages of the usual size it is. */
	madvise(huge, h->size - SMALL_BYTES, MADV_HUGEPAGE);
	ASAN_POISON_MEMORY_REGION(p, h->mapping_bytes);
	return true;
}

void os_heap_done(struct os_heap *h)
{
	if (!h->mapping)
		return;
	ASAN_UNPOISON_MEMORY_REGION(h->mapping, h->mapping_bytes);
	munmap(h->mapping, h->mapping_bytes);
	*h = (struct os_heap){0};
}

/** The pages within [@p p, @p p + @p n). */
static void return_pages(char *p, size_t n)
{
	char *from = (char *)(((uintptr_t)p + PAGE - 1) & ~((uintptr_t)PAGE - 1));
	char *to = (char *)((uintptr_t)(p + n) & ~((uintptr_t)PAGE - 1));

	madvise(from, (size_t)(to - from), MADV_DONTNEED);
}

void os_heap_free(struct os_heap *h, void *p, size_t bytes)
{
	unsigned int k = class_of(bytes);

	if (!p)
		return;
	memcpy(p, &h->free[k], sizeof(h->free[k]));
	h->free[k] = p;
	ASAN_POISON_MEMORY_REGION(p, bytes_of_class(k));
	if (bytes_of_class(k) >= RETURNED_BYTES)
		return_pages((char *)p + EXTRA, bytes_of_class(k) - EXTRA);
}

static void *take(struct os_heap *h, unsigned int k)
{
	size_t n = bytes_of_class(k);
	void *p = h->free[k];

	if (p) {
		ASAN_UNPOISON_MEMORY_REGION(p, n);
		memcpy(&h->free[k], p, sizeof(h->free[k]));
		return p;
	}
	if (n > h->size - h->nr)
		return NULL;
	p = h->base + h->nr;
	ASAN_UNPOISON_MEMORY_REGION(p, n);
	h->nr += n;
	return p;
}

void *os_heap_grow(struct os_heap *h, void *old, size_t old_bytes, size_t *bytes)
{
	unsigned int k = class_of(*bytes);
	void *p;

	if (k == OS_HEAP_CLASSES || mem_is_refused())
		return NULL;
	p = take(h, k);
	if (!p)
		return NULL;
	*bytes = bytes_of_class(k);
	if (old)
		memcpy(p, old, old_bytes < *bytes ? old_bytes : *bytes);
	os_heap_free(h, old, old_bytes);
	return p;
}

bool os_heap_grow_vec_(struct os_heap *h, void **data, size_t *cap, size_t want, size_t elem_size)
{
	size_t bytes, twice;
	void *p;

	if (__builtin_mul_overflow(want, elem_size, &bytes) ||
	    __builtin_mul_overflow(*cap * elem_size, (size_t)2, &twice))
		return false;
	twice -= twice < EXTRA ? twice : EXTRA; /* which the next size has once, too */
	if (bytes < twice)
		bytes = twice;
	p = os_heap_grow(h, *data, *data ? *cap * elem_size : 0, &bytes);
	if (!p)
		return false;
	*data = p;
	*cap = bytes / elem_size;
	return true;
}
