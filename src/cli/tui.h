/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_H
#define CLI_TUI_H

#include <stdbool.h>

/*
 * Browsers on the whole terminal, by ncurses: `clew report --tui` and others. These are here in
 * every build; where ncurses was missing, tui_check() says so.
 */

/** Can @p option (such as "--tui") have what it needs? @return CLI_OK, or CLI_USAGE after a
 * message: no terminal, one that cannot move its cursor, or clew was built without ncurses. */
int tui_check(const char *option);

/** Are there to be colours? @p is_off: --no-color. NO_COLOR in the environment is the same. */
bool tui_is_colored(bool is_off);

#endif
