/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_OPTS_H
#define API_OPTS_H

#include <stddef.h>

#include <clew/err.h>

/** What a struct of options looks like that begins with its size. */
struct opts_type {
	size_t bytes;                       /* that this version knows */
	size_t reserved_at, reserved_bytes; /* of its member `reserved`; 0: it has none */
};

#define OPTS_TYPE(type)                                                 \
 {                                                                      \
  sizeof(type), offsetof(type, reserved), sizeof(((type *)0)->reserved) \
 }

/**
 * Copy a caller's options into @p to, zeroed, of @p type. NULL: nothing is copied.
 * @return CLEW_INVALID: the size was forgotten, or cannot be right; CLEW_UNSUPPORTED: there is more
 * than zeros where this version knows no field.
 */
CLEW_MUST_USE enum clew_err opts_take(void *to, const struct opts_type *type, const void *from,
				      struct clew_diag *diag);

#endif
