/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/message.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/common/progress.h"

enum { MAX_BYTES = 4096 };

static bool is_quiet;
static struct buf *held;                /* where messages wait; NULL: they do not */
static _Thread_local bool is_kept_back; /* the last message, so that its hint is, too */

void cli_set_quiet(void)
{
	is_quiet = true;
	cli_progress_stop();
}

/* All in one write, so that lines of several threads or programs do not mix. */
static void say(const char *prefix, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
static void say(const char *prefix, const char *format, va_list args)
{
	clew_auto(buf_done) struct buf line = {0};

	buf_vprintf(&line, format, args);
	escape_since(&line, 0);
	if (line.is_failed) {
		fprintf(stderr, "%sout of memory\n", prefix);
		return;
	}
	if (held) {
		buf_printf(held, "%s%.*s\n", prefix, (int)escape_cut(line.data, line.nr, MAX_BYTES),
			   line.data);
		return;
	}
	cli_progress_pause();
	fprintf(stderr, "%s%.*s%s\n", prefix, (int)escape_cut(line.data, line.nr, MAX_BYTES),
		line.data, line.nr > MAX_BYTES ? "..." : "");
	cli_progress_resume();
}

struct buf *cli_hold_messages(struct buf *to)
{
	struct buf *before = held;

	held = to;
	return before;
}

void cli_release_messages(struct buf *waiting)
{
	held = NULL;
	if (waiting->nr)
		fwrite(waiting->data, 1, waiting->nr, stderr);
	buf_done(waiting);
}

void cli_put(FILE *to, const char *format, ...)
{
	clew_auto(buf_done) struct buf line = {0};
	va_list args;

	va_start(args, format);
	escape_vprintf(&line, format, args);
	va_end(args);
	if (line.is_failed)
		cli_error("out of memory");
	else
		fwrite(line.data, 1, line.nr, to);
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
	is_kept_back = false;
	SAY("clew: error: ");
}

void cli_warn(const char *format, ...)
{
	is_kept_back = is_quiet;
	if (!is_quiet)
		SAY("clew: warning: ");
}

void cli_note(const char *format, ...)
{
	is_kept_back = is_quiet;
	if (!is_quiet)
		SAY("clew: ");
}

void cli_hint(const char *format, ...)
{
	if (!is_kept_back)
		SAY("      hint: ");
}

int cli_fail(const char *file, const struct clew_diag *diag)
{
	char text[2 * MAX_BYTES]; /* more than is shown */

	clew_diag_text(text, sizeof(text), file, diag);
	cli_error("%s", text);
	return CLI_FAILED;
}
