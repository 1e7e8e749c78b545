/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>

#include "base/mem.h"

/*
 * A growable array: struct { VEC(struct foo); } v = {0}; if (!vec_push(&v, x)) out of memory.
 * Elements move when it grows: keep indexes, not pointers.
 */
#define VEC(type) \
 type *data;      \
 size_t nr, cap

/** Make room for @p n elements in all. @return false when memory is short; the vec is as it was. */
#define vec_reserve(v, n) \
 ((n) <= (v)->cap || vec_grow_((void **)&(v)->data, &(v)->cap, (n), sizeof(*(v)->data)))

/** Make it have @p n elements or more; new ones are zero. @return as vec_reserve. */
#define vec_reach(v, n) \
 ((n) <= (v)->nr || vec_reach_((void **)&(v)->data, &(v)->nr, &(v)->cap, (n), sizeof(*(v)->data)))

#define vec_push(v, ...) \
 (vec_reserve((v), (v)->nr + 1) ? ((v)->data[(v)->nr++] = (__VA_ARGS__), true) : false)

#define vec_done(v)       \
 do {                     \
  mem_free((v)->data);    \
  (v)->data = NULL;       \
  (v)->nr = (v)->cap = 0; \
 } while (0)

/* nr is asked first: even adding 0 to the NULL of an empty vec is undefined. */
#define vec_for_each(v, p) \
 for (__typeof__(&*(v)->data) p = (v)->data; (v)->nr && p < (v)->data + (v)->nr; p++)

bool vec_grow_(void **data, size_t *cap, size_t want, size_t elem_size);
bool vec_reach_(void **data, size_t *nr, size_t *cap, size_t want, size_t elem_size);

#endif
