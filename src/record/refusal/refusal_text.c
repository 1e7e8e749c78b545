/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/refusal/refusal_text.h"

#include <stdarg.h>

void refusal_cause(const struct refusal_case *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rec_vfail(c->ret, CLEW_OS, format, args);
	va_end(args);
	c->ret->os_errno = c->r->os_errno;
	c->ret->subject = c->r->event;
}

void refusal_remedy(const struct refusal_case *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rec_vadvise(c->ret, format, args);
	va_end(args);
}
