/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_TERMINAL_TEXT_H
#define CLI_COMMON_TERMINAL_TEXT_H

#include <stdbool.h>

/** @return -1: cli_is_colored() takes @p when; else CLI_USAGE, after a message. */
int cli_check_color(const char *when);

/** Is output to have colours? @p when: "always", "never", "auto", or NULL, the same as that. */
bool cli_is_colored(const char *when);

/** What stands for cut text: one column where the terminal's characters are UTF-8, as a pager would
 * show the bytes elsewhere; NULL: the writer's default. */
const char *cli_cut_mark(void);

#endif
