/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/** The number that the digits from *at on are, as far as @p end; *at moves past them. None: 0.
 * @p base: 2 to 16. @return false: it has over 64 bits. */
bool number_take(const char **at, const char *end, unsigned int base, uint64_t *ret);

#endif
