/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_ERROR_H
#define RECORD_PLAN_REC_ERROR_H

#include <clew/err.h>

#include "base/attributes.h"

/** For the user: what was wrong and what to do. Apart, as names in a sentence may hold newlines. */
struct rec_error {
	char text[768]; /* a sentence */
	char hint[768]; /* what to do; "": nothing to advise */
};

/** Put a sentence into @p e and return @p code. */
CLEW_COLD CLEW_PRINTF(3, 4) enum clew_err
	rec_fail(struct rec_error *e, enum clew_err code, const char *format, ...);

/** The same with errno's words behind: "cannot open x: No such file or directory". @p err: an
 * errno, positive or negative. */
CLEW_COLD CLEW_PRINTF(3, 4) enum clew_err
	rec_fail_os(struct rec_error *e, int err, const char *format, ...);

CLEW_COLD enum clew_err rec_fail_memory(struct rec_error *e);

/** What to do about the sentence in @p e. */
CLEW_COLD CLEW_PRINTF(2, 3) void rec_advise(struct rec_error *e, const char *format, ...);

#endif
