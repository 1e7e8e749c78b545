/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SIGRETURN_ROWS_H
#define UNWIND_SIGRETURN_ROWS_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/**
 * Rows for the code that a signal's handler returns to, found by its bytes: musl and other C
 * libraries describe it not at all, and Go as if it were called. amd64, aarch64. They begin a byte
 * before that code, as glibc's do: walkers look up the byte before a return address. O(bytes of
 * code); beyond a thousand the rest has no rows.
 * @return CLEW_NOT_FOUND: there is none, or another machine.
 */
enum clew_err sigreturn_rows(const struct unw_image *image, struct unw_list *ret);

extern const struct unw_rule a64_sigreturn_rule;

#endif
