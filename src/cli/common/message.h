/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_MESSAGE_H
#define CLI_COMMON_MESSAGE_H

#include <stdbool.h>
#include <stdio.h>

#include <clew/err.h>

#include "base/attributes.h"
#include "base/buf.h"

/** Exit statuses of every command. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* All to stderr, one line each, with a final newline added: "clew: error: ...", "clew: warning:
 * ...", "      hint: ...". Unprintable characters are escaped (base/escape.h), as names in them are
 * not trusted. */
void cli_error(const char *format, ...) CLEW_PRINTF(1, 2);
void cli_warn(const char *format, ...) CLEW_PRINTF(1, 2);
void cli_note(const char *format, ...) CLEW_PRINTF(1, 2);
void cli_hint(const char *format, ...) CLEW_PRINTF(1, 2);

/**
 * The sentence for a failed library call on @p file: what, where in the file, errno's text.
 * @return CLI_FAILED, so that `return cli_fail(...)` ends a command.
 */
int cli_fail(const char *file, const struct clew_diag *diag);

/** fprintf() of a line or a part of one; all is escaped but the newline that ends @p format. */
void cli_put(FILE *to, const char *format, ...) CLEW_PRINTF(2, 3);

/** From here on messages go to the end of @p to, whole lines: the terminal is another's. NULL: to
 * standard error again. One thread. @return where they went before. */
struct buf *cli_hold_messages(struct buf *to);

/** The terminal is free again: print what waited in @p waiting, and free it. */
void cli_release_messages(struct buf *waiting);

/** --quiet: notes and warnings are not printed from here on, nor the hints that follow them, and
 * there is no line of progress. */
void cli_set_quiet(void);

#endif
