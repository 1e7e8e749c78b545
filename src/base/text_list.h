/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_TEXT_LIST_H
#define BASE_TEXT_LIST_H

#include <stdbool.h>
#include <string.h>

/** Is @p name one of a comma list? Names hold no commas: those of functions do
 * (dso_sym_is_in_list()). */
static inline bool text_list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}

#endif
