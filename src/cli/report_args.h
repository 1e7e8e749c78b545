/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_REPORT_ARGS_H
#define CLI_REPORT_ARGS_H

#include "cli/common/input.h"
#include "cli/itrace.h"
#include "format/report/report_text.h"

enum report_output {
	REPORT_TABLE,
	REPORT_JSON,
	REPORT_FOLDED,
	REPORT_STATS,
	REPORT_HTML,
	REPORT_TUI
};

/** Are rows of branches, not of samples? */
enum report_branches { REPORT_BRANCHES_BY_HEADER, REPORT_BRANCHES_ON, REPORT_BRANCHES_OFF };

/** What the command line of `clew report` asked for. */
struct report_args {
	struct cli_input in;
	struct cli_itrace itrace;
	struct report_feed_opts feed;
	struct report_table_opts table;
	struct report_text_opts text;
	enum report_output output;
	enum report_branches branches;
	struct report_sort keys;       /* of -s and -F; feed.sort is made of them */
	bool is_sorted;                /* they replace the default ones; else follow them */
	bool has_graph;                /* -g asks for call graphs */
	bool has_children, has_order;  /* has_order: -g or -G chose the direction */
	bool has_max_stack, has_limit; /* has_limit: -g or --max-stack limits graphs */
	bool has_widths;               /* -w: the terminal's width is not a limit */
	bool is_ungrouped;             /* --no-group */
	bool has_header, is_header_only;
	bool is_memory, is_of_branches; /* --mem, --branch */
	bool is_stats, is_json, is_folded, is_tui, is_quiet;
	bool has_color; /* --no-color: false */
	bool is_single_threaded;
	bool by_period; /* --folded: periods, not samples */
	bool ignored;   /* of options accepted only for perf */
	const char *color;
	const char *html;     /* --html: the file to write; NULL: no page */
	uint64_t max_samples; /* of a page; 0: the default */
	char *joined;         /* owned: the one word made of two */
};

/** argv is permuted. @return the exit status where the command is to end now, else -1. Free
 * a->joined at the end. */
int report_args_parse(struct report_args *a, int argc, char **argv);

/** The parts of that, for a command with options of its own: defaults, then what follows from what
 * was asked. @return as report_args_parse(). */
void report_args_init(struct report_args *a);
int report_args_finish(struct report_args *a);
/** For rows of options. */
int report_args_set_max_stack(void *args, const char *arg, bool is_negated);
int report_args_set_percent_limit(void *share, const char *arg, bool is_negated);

/** Make feed.sort of the default keys and the asked ones. */
void report_args_set_sort(struct report_args *a, bool is_by_branch);

/** An unknown sort key, with those there are. @return CLI_USAGE. */
int report_args_refuse_key(const char *option, const char *word, size_t len);

/* clang-format off */
#define REPORT_MAX_SAMPLES_OPTION(a)                                                                \
	{0, "max-samples", "N", "of a page: merge samples of a kind in bins of time if there are more (default 4000000)", \
	 CLI_UINT, &(a)->max_samples}
/* clang-format on */

#endif
