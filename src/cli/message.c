/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/message.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_quiet;

void cli_set_quiet(void)
{
	is_quiet = true;
}

static void say(const char *prefix, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
static void say(const char *prefix, const char *format, va_list args)
{
	char line[2048];

	vsnprintf(line, sizeof(line), format, args);
	fprintf(stderr, "%s%s\n", prefix, line);
}

#define SAY(prefix)          \
 do {                        \
  va_list args;              \
  va_start(args, format);    \
  say(prefix, format, args); \
  va_end(args);              \
 } while (0)

void cli_error(const char *format, ...)
{
	SAY("clew: error: ");
}

void cli_warn(const char *format, ...)
{
	if (!is_quiet)
		SAY("clew: warning: ");
}

void cli_note(const char *format, ...)
{
	if (!is_quiet)
		SAY("clew: ");
}

void cli_hint(const char *format, ...)
{
	SAY("      hint: ");
}

int cli_fail(const char *file, const struct clew_diag *diag)
{
	const char *what = diag->what ? diag->what : clew_err_name(diag->code);

	if (diag->code == CLEW_OS)
		cli_error("%s: %s: %s", file, what, strerror(diag->os_errno));
	else if (diag->offset)
		cli_error("%s: %s, at offset 0x%llx", file, what, (unsigned long long)diag->offset);
	else
		cli_error("%s: %s", file, what);
	return CLI_FAILED;
}
