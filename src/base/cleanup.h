/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stddef.h>

/** Run @p fn on the variable's address when its scope ends; @p fn accepts a NULL or empty variable.
 */
#define clew_auto(fn) __attribute__((cleanup(fn)))

/** The pointer's value; the variable is NULL from here on, so that clew_auto has nothing left to
 * do. */
/* clang-format off */
#define clew_take(p) ({ __typeof__(p) clew_taken_ = (p); (p) = NULL; clew_taken_; })
/* clang-format on */

#endif
