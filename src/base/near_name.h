/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_NEAR_NAME_H
#define BASE_NEAR_NAME_H

#include <stddef.h>

/**
 * The nearest of a series of names to a misspelt word: fewest letters added, omitted, changed or
 * swapped with their neighbour, where that is few for the word's length. Letter case counts half.
 * Of equally near names the first. O(length of the word x length of the name).
 */
struct near_name {
	const char *word; /* borrowed, not NUL-terminated */
	size_t size;
	char best[128]; /* "": nothing is near */
	size_t distance;
};

void near_name_start(struct near_name *n, const char *word, size_t size);
void near_name_try(struct near_name *n, const char *name);

#endif
