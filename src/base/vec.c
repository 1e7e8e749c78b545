/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/vec.h"

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
