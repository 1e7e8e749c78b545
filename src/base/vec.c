/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/vec.h"

#include <string.h>

bool vec_grow_(void **data, size_t *cap, size_t want, size_t elem_size)
{
	size_t next = *cap ? *cap : 2; /* many stay that small: one name, one process per thread */
	void *p;

	while (next < want) {
		if (__builtin_mul_overflow(next, (size_t)2, &next))
			return false;
	}
	p = mem_realloc_array(*data, next, elem_size);
	if (!p)
		return false;
	*data = p;
	*cap = next;
	return true;
}

bool vec_reach_(void **data, size_t *nr, size_t *cap, size_t want, size_t elem_size)
{
	if (want > *cap && !vec_grow_(data, cap, want, elem_size))
		return false;
	memset((char *)*data + *nr * elem_size, 0, (*cap - *nr) * elem_size);
	*nr = *cap;
	return true;
}
