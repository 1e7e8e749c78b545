/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_ESCAPE_H
#define FORMAT_REPORT_ESCAPE_H

#include "base/buf.h"

/**
 * Append @p size bytes of a recorded name as terminals may have them: control characters and bytes
 * that are not UTF-8 as \xNN, all else as it is.
 */
void report_escape(struct buf *out, const char *s, size_t size);

/** Columns that text takes on a terminal, counting each UTF-8 character as one. */
size_t report_columns(const char *s, size_t size);

#endif
