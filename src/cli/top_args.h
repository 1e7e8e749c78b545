/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TOP_ARGS_H
#define CLI_TOP_ARGS_H

#include "cli/common/input.h"
#include "format/top/top_text.h"
#include "record/plan/rec_options.h"

enum top_output { TOP_SCREEN, TOP_STDIO, TOP_JSON };

/** What the command line of `clew top` asked for. */
struct top_args {
	struct rec_options o;
	struct rec_event_list events;
	struct cli_input in; /* of symbols alone */
	struct top_opts top;
	struct top_style style;
	struct report_sort keys; /* of -s; top.feed.sort is made of them */
	bool is_sorted;          /* they replace the default ones; else follow them */
	enum top_output output;
	bool is_stdio, is_json, is_quiet, has_color, has_children;
	uint64_t max_refreshes, max_rows; /* 0: no limit */
	const char *count, *color;
	struct buf cache_dir;
};

/** argv is permuted. @return the exit status where the command is to end now, else -1. In any case,
 * top_args_done() at the end. */
int top_args_parse(struct top_args *a, int argc, char **argv);
void top_args_done(struct top_args *a);

enum { TOP_MAX_SECONDS = 86400 };

/** Seconds between refreshes: 0.1 to a day. @return false: not that. */
bool top_parse_seconds(const char *text, uint64_t *ret_ns);

#endif
