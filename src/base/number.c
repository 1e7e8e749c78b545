/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"

/** 16: none. */
static unsigned int digit_of(char c)
{
	return c >= '0' && c <= '9' ? (unsigned int)(c - '0')
	     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
	     : c >= 'A' && c <= 'F' ? (unsigned int)(c - 'A' + 10)
				    : 16;
}

bool number_take(const char **at, const char *end, unsigned int base, uint64_t *ret)
{
	uint64_t v = 0;

	for (; *at < end && digit_of(**at) < base; ++*at) {
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_of(**at), &v))
			return false;
	}
	*ret = v;
	return true;
}
