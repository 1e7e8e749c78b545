/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The one mutable state of the library outside its handles; per thread, and only tests set it. */
static _Thread_local uint64_t allowed = UINT64_MAX;
static _Thread_local int has_failed;

static int may_allocate(void)
{
	if (allowed == UINT64_MAX)
		return 1;
	if (allowed == 0) {
		has_failed = 1;
		return 0;
	}
	allowed--;
	return 1;
}

void mem_fail_after(uint64_t n)
{
	allowed = n;
	has_failed = 0;
}

int mem_has_failed(void)
{
	return has_failed;
}

int mem_is_refused(void)
{
	return !may_allocate();
}

void *mem_alloc(size_t size)
{
	return may_allocate() ? malloc(size ? size : 1) : NULL;
}

void *mem_zalloc(size_t size)
{
	return mem_calloc(1, size);
}

void *mem_calloc(size_t nr, size_t size)
{
	return may_allocate() ? calloc(nr ? nr : 1, size ? size : 1) : NULL;
}

void *mem_realloc_array(void *p, size_t nr, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(nr, size, &total) || !may_allocate())
		return NULL;
	return realloc(p, total ? total : 1);
}

void mem_free(void *p)
{
	free(p);
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = mem_alloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}
