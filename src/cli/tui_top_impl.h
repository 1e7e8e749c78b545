/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_TOP_IMPL_H
#define CLI_TUI_TOP_IMPL_H

#include "cli/tui_table.h"
#include "cli/tui_top.h"

/* tui_top.c: views as rows; tui_top_keys.c: what keys do. */

struct tui_top {
	struct tui_top_input in;
	struct top_style style; /* with what keys have changed */
	struct top_view *view;
	struct report_table table;
	struct tui_fitted fitted; /* without lines: the event has no samples yet */
	struct tui_browser *browser;
	size_t event; /* has_event: it is chosen */
	uint64_t refresh_ns;
	bool has_event, is_zeroed, is_paused, is_ended;
	bool has_colors, must_leave; /* must_leave: the terminal is gone */
	struct buf text;             /* scratch */
};

/** Show the table of the view again, for other options. */
void tui_top_make_again(struct tui_top *t);
/** The frame at a node. */
uint32_t tui_top_frame_of(const struct tui_top *t, uint64_t node);
/** The period of samples in it. */
uint64_t tui_top_self_of(const struct tui_top *t, uint64_t node);

/** tui_open() with the colours that are wanted. */
bool tui_top_open(const struct tui_top *t);

extern const struct tui_key_text tui_top_keys[];
extern const char tui_top_taken[];
/** @return false: leave. */
bool tui_top_key(struct tui_top *t, int key);

#endif
