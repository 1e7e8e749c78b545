/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_DIFF_H
#define CLI_TUI_DIFF_H

#include "base/buf.h"
#include "format/report/diff_text.h"

/** What `clew diff --tui` shows. Borrowed. */
struct tui_diff_input {
	const struct diff_feed *diff;
	const struct diff_input *inputs;
	const struct diff_text_opts *text;
	const struct buf *notes; /* messages, in lines */
	bool has_color;          /* --no-color: false */
};

/** @return CLI_OK: the user left it; else what went wrong, after a message. */
int tui_diff_browse(const struct tui_diff_input *in);

#endif
