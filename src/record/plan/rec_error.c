/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/rec_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum clew_err rec_fail(struct rec_error *e, enum clew_err code, const char *format, ...)
{
	va_list args;

	e->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return code;
}

enum clew_err rec_fail_os(struct rec_error *e, int err, const char *format, ...)
{
	va_list args;
	int n;

	e->hint[0] = '\0';
	va_start(args, format);
	n = vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(e->text))
		snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s",
			 strerror(err < 0 ? -err : err));
	return CLEW_OS;
}

void rec_advise(struct rec_error *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(e->hint, sizeof(e->hint), format, args);
	va_end(args);
}

enum clew_err rec_fail_memory(struct rec_error *e)
{
	return rec_fail(e, CLEW_NO_MEMORY, "out of memory");
}
