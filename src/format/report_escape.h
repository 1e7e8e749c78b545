/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_ESCAPE_H
#define FORMAT_REPORT_ESCAPE_H

#include "base/escape.h"

/** Columns that text takes on a terminal, counting each UTF-8 character as one. */
size_t report_columns(const char *s, size_t size);

/** A recorded name as terminals may have it. */
static inline void report_escape(struct buf *out, const char *s, size_t size)
{
	escape_add(out, s, size);
}

#endif
