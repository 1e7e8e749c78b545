/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_TEXT_COUNT_H
#define TESTS_UNIT_TEXT_COUNT_H

#include <string.h>

#include "base/buf.h"

/** How many lines of @p b have @p words in them. By lines: under AddressSanitizer each strstr()
 * measures all that is left of its text, so that a loop of them over some MiB takes minutes. */
static inline size_t nr_lines_with(const struct buf *b, const char *words)
{
	const char *at = b->data, *end = at + b->nr;
	size_t nr = 0;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		nr += memmem(at, (size_t)(stop - at), words, strlen(words)) != NULL;
		at = stop + 1;
	}
	return nr;
}

#endif
