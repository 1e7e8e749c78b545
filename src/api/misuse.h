/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_MISUSE_H
#define API_MISUSE_H

#include "base/err.h"

/* Calls that make no sense are errors: a program that takes one for an end has not seen all. */

static inline enum clew_err api_misuse(struct clew_diag *diag, const char *what)
{
	return clew_fail(diag, CLEW_INVALID, 0, what);
}

/** What a callback's result ends a pass with; CLEW_OK: the pass continues. */
static inline enum clew_err api_taken(enum clew_err result)
{
	return result > 0 ? CLEW_INVALID : result;
}

/** The same, with a diag; @p result is not CLEW_OK. */
static inline enum clew_err api_fail_taken(struct clew_diag *diag, enum clew_err result)
{
	return clew_fail(diag, api_taken(result), 0,
			 result > 0 ? "a callback returned a positive number"
				    : "a callback ended the pass");
}

#endif
