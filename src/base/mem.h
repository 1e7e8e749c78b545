/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

/*
 * All heap use of the library goes through here, so that tests can make the n-th allocation fail.
 * Each returns NULL when memory is short or a product overflows; free accepts NULL.
 */
void *mem_alloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *mem_zalloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *mem_calloc(size_t nr, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *mem_realloc_array(void *p, size_t nr, size_t size);
void mem_free(void *p);

char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/** For clew_auto: `clew_auto(mem_free_at) char *s = ...`. */
static inline void mem_free_at(void *variable)
{
	mem_free(*(void **)variable);
}

/** Tests only: let @p n more allocations of this thread succeed, then fail each one. UINT64_MAX:
 * never fail. */
void mem_fail_after(uint64_t n);

/** Of memory that does not come from these functions: is it to be refused now? */
int mem_is_refused(void);

/** Tests only: have allocations been refused by mem_fail_after() since it was last set? */
int mem_has_failed(void);

#endif
