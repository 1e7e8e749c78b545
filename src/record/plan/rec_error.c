/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/rec_error.h"

#include <stdio.h>
#include <string.h>

enum clew_err rec_vfail(struct rec_error *e, enum clew_err code, const char *format, va_list args)
{
	e->code = code;
	e->os_errno = 0;
	e->subject = NULL;
	e->pos = 0;
	e->hint[0] = '\0';
	vsnprintf(e->text, sizeof(e->text), format, args);
	return code;
}

enum clew_err rec_fail(struct rec_error *e, enum clew_err code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rec_vfail(e, code, format, args);
	va_end(args);
	return code;
}

enum clew_err rec_fail_os(struct rec_error *e, int err, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	rec_vfail(e, CLEW_OS, format, args);
	va_end(args);
	e->os_errno = err < 0 ? -err : err;
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(e->os_errno));
	return CLEW_OS;
}

enum clew_err rec_fail_memory(struct rec_error *e)
{
	return rec_fail(e, CLEW_NO_MEMORY, "out of memory");
}

void rec_vadvise(struct rec_error *e, const char *format, va_list args)
{
	vsnprintf(e->hint, sizeof(e->hint), format, args);
}

void rec_advise(struct rec_error *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rec_vadvise(e, format, args);
	va_end(args);
}
