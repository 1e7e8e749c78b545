/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_OPTS_H
#define API_OPTS_H

#include <clew/err.h>

/**
 * Copy a caller's options, which begin with their size, into @p to, zeroed, of @p to_bytes. NULL:
 * nothing is copied.
 * @return CLEW_INVALID: the size was forgotten; CLEW_UNSUPPORTED: there is more than zeros past
 * what this version knows.
 */
CLEW_MUST_USE enum clew_err opts_take(void *to, size_t to_bytes, const void *from,
				      struct clew_diag *diag);

#endif
