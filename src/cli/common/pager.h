/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_PAGER_H
#define CLI_COMMON_PAGER_H

#include <stdbool.h>

#include "base/sink.h"

/*
 * Standard output of commands that print much. On a terminal it goes through $PAGER (less where
 * that is not set; none where it is empty or "cat"), elsewhere straight out.
 */

/** Call once, before anything is printed; from here on, a reader that closes the pipe is not an
 * error. The pager starts with the first byte, so that Ctrl-C before it leaves no empty pager. */
void cli_pager_start(void);

/** The first byte comes now, but not through cli_stdout_sink(). */
void cli_pager_open(void);

/** Wait until the user has left the pager. Fine without cli_pager_start(). */
void cli_pager_done(void);

/** Is standard output a terminal, be it through a pager? Colours are for terminals only. */
bool cli_is_terminal(void);

/** Standard output as a sink: CLEW_STOPPED if its reader has gone, CLEW_OS with @p diag's errno for
 * other failures. */
struct clew_sink cli_stdout_sink(struct clew_diag *diag);

#endif
