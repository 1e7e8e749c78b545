/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_ERROR_H
#define RECORD_PLAN_REC_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include <clew/err.h>

#include "base/attributes.h"

/** Why recording failed, for the user (docs/adr/0002 says why as a text). Text and hint are apart,
 * as names in them may hold newlines. */
struct rec_error {
	enum clew_err code;
	int os_errno;        /* of the refused system call, positive; 0: none */
	const char *subject; /* the event it is about, borrowed; NULL: the text names what it is
				about */
	size_t pos;          /* of a spelling: the byte at which it is wrong */
	char text[768];      /* a sentence without a final stop */
	char hint[768];      /* what to do; "": nothing to advise */
};

/** Put a sentence into @p e and return @p code. */
CLEW_COLD CLEW_PRINTF(3, 4) enum clew_err
	rec_fail(struct rec_error *e, enum clew_err code, const char *format, ...);

CLEW_COLD enum clew_err rec_vfail(struct rec_error *e, enum clew_err code, const char *format,
				  va_list args) CLEW_PRINTF(3, 0);

/** The same with errno's words at the end: "cannot open x: No such file or directory". @p err: an
 * errno, positive or negative. */
CLEW_COLD CLEW_PRINTF(3, 4) enum clew_err
	rec_fail_os(struct rec_error *e, int err, const char *format, ...);

CLEW_COLD enum clew_err rec_fail_memory(struct rec_error *e);

/** What to do about the sentence in @p e. */
CLEW_COLD CLEW_PRINTF(2, 3) void rec_advise(struct rec_error *e, const char *format, ...);

CLEW_COLD void rec_vadvise(struct rec_error *e, const char *format, va_list args) CLEW_PRINTF(2, 0);

#endif
