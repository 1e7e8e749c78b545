/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_DIFF_ARGS_H
#define CLI_DIFF_ARGS_H

#include "cli/common/input.h"
#include "cli/itrace.h"
#include "format/report/diff_text.h"

/** What the command line of `clew diff` asked for. */
struct diff_args {
	struct cli_input in;      /* options of all recordings; path: the first one's */
	struct cli_itrace itrace; /* the same */
	const char *paths[REPORT_DIFF_MAX];
	uint32_t nr_paths;
	struct diff_feed_opts diff;
	struct report_feed_opts feed;
	struct diff_text_opts text;
	double fail_above; /* with has_limit */
	bool has_limit;
	bool is_json, is_tui, is_quiet, is_single_threaded;
	bool has_color; /* --no-color: false */
	bool ignored;   /* of options accepted only for perf */
	const char *color;
	const char *html; /* the file to write; NULL: no page */
};

/** argv is permuted. @return the exit status where the command is to end now, else -1. */
int diff_args_parse(struct diff_args *a, int argc, char **argv);

/** diff.c: why the recordings cannot be compared. @return CLI_USAGE. */
int diff_refuse(const struct diff_args *a, const struct diff_doubt *d);

#endif
