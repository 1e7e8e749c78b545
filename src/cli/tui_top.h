/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_TOP_H
#define CLI_TUI_TOP_H

#include "cli/top_args.h"
#include "cli/tui_screen.h"

/** What the screen of `clew top` shows. Borrowed. */
struct tui_top_input {
	struct top *top;
	struct top_args *args;
	/** Shall the screen close, with all that is open over it? Called from its thread. */
	tui_leave *must_close;
	void *ctx;
};

/** Show the views of @p in, as they come, until the user leaves or must_close(); after the
 * recording's end the last one stays. Before the first view the terminal is as it was. @return
 * CLI_OK, or what went wrong, after a message. */
int tui_top_show(const struct tui_top_input *in);

#endif
