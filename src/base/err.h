/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <clew/err.h>

#include "base/attributes.h"

/** Fill @p d (NULL is fine) and return @p code, so that a failure is one statement. */
CLEW_COLD enum clew_err clew_fail(struct clew_diag *d, enum clew_err code, uint64_t offset,
				  const char *what);

/** The same for a refused system call: code CLEW_OS with @p os_errno. */
CLEW_COLD enum clew_err clew_fail_os(struct clew_diag *d, int os_errno, const char *what);

#endif
