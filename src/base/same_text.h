/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_SAME_TEXT_H
#define BASE_SAME_TEXT_H

#include <stdbool.h>
#include <string.h>

/** Equal texts, or both NULL. */
static inline bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

#endif
