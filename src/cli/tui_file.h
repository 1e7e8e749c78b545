/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_FILE_H
#define CLI_TUI_FILE_H

#include "cli/tui_browser.h"

/** Ask for a file, and write all rows of @p b into it, as tui_browser_write() has them, without
 * colours. */
void tui_file_write(struct tui_browser *b, const char *name);

#endif
