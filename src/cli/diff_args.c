/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/diff_args.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/report_args.h"
#include "cli/tui.h"

static const double largest = 1e15; /* weights and limits */

static int set_sort(void *to, const char *arg, bool is_negated)
{
	struct diff_args *a = to;
	const char *bad = NULL;
	size_t len = 0;
	enum report_key k;

	(void)is_negated;
	if (report_sort_parse(&a->diff.sort, arg, &bad, &len) != CLEW_OK) {
		cli_error("--sort: there is no key '%.*s'", (int)len, bad);
		cli_hint("keys: %s", report_sort_names());
		return CLI_USAGE;
	}
	k = report_sort_branch_key(&a->diff.sort);
	if (k != REPORT_NR_KEYS) {
		cli_error("--sort: '%s' is a key for branches, but clew diff counts samples",
			  report_key_name(k));
		return CLI_USAGE;
	}
	if (!a->diff.sort.nr) {
		cli_error("--sort needs a key");
		return CLI_USAGE;
	}
	return 0;
}

static int set_norm(void *to, const char *arg, bool is_negated)
{
	static const struct {
		const char *name;
		enum report_diff_norm norm;
	} norms[] = {
		{"share", REPORT_DIFF_SHARE},
		{"time",  REPORT_DIFF_TIME },
		{"cpu",   REPORT_DIFF_CPU  },
		{"none",  REPORT_DIFF_NONE },
	};
	struct diff_args *a = to;

	(void)is_negated;
	if (!strncmp(arg, "ref=", 4) && arg[4]) {
		a->diff.norm = REPORT_DIFF_REF;
		a->diff.ref = arg + 4;
		return 0;
	}
	for (size_t i = 0; i < sizeof(norms) / sizeof(norms[0]); i++) {
		if (strcmp(arg, norms[i].name) != 0)
			continue;
		a->diff.norm = norms[i].norm;
		return 0;
	}
	cli_error("--normalize is share, time, cpu, ref=SYMBOL or none, not '%s'", arg);
	return CLI_USAGE;
}

/* @return the byte after the number; NULL: there is none. */
static const char *take_number(const char *at, double *ret)
{
	char *end;

	*ret = strtod(at, &end);
	return end != at && *ret >= -largest && *ret <= largest ? end : NULL;
}

static bool take_weights(const char *at, double weights[2])
{
	at = take_number(at, &weights[0]);
	if (!at || *at != ',')
		return false;
	at = take_number(at + 1, &weights[1]);
	return at && !*at;
}

static int set_order(void *to, const char *arg, bool is_negated)
{
	static const struct {
		const char *name;
		enum report_diff_order order;
	} orders[] = {
		{"delta",     REPORT_DIFF_BY_DELTA    },
		{"delta-abs", REPORT_DIFF_BY_DELTA_ABS},
		{"ratio",     REPORT_DIFF_BY_RATIO    },
	};
	struct report_diff_opts *o = to;

	(void)is_negated;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (strcmp(arg, orders[i].name) != 0)
			continue;
		o->order = orders[i].order;
		return 0;
	}
	o->order = REPORT_DIFF_BY_WDIFF;
	if (!strncmp(arg, "wdiff:", 6) && take_weights(arg + 6, o->weights))
		return 0;
	cli_error("--order is delta, delta-abs, ratio or wdiff:WA,WB, not '%s'", arg);
	return CLI_USAGE;
}

/* In percent, as it is printed: a share times 100 would be another number. */
static int set_fail_above(void *to, const char *arg, bool is_negated)
{
	struct diff_args *a = to;
	const char *end = take_number(arg, &a->fail_above);

	(void)is_negated;
	a->has_limit = true;
	if (end && !*end && a->fail_above >= 0 && a->fail_above <= 100)
		return 0;
	cli_error("--fail-above takes a number from 0 to 100, not '%s'", arg);
	return CLI_USAGE;
}

static int set_percentage(void *to, const char *arg, bool is_negated)
{
	struct diff_args *a = to;

	(void)is_negated;
	if (strcmp(arg, "relative") != 0 && strcmp(arg, "absolute") != 0) {
		cli_error("--percentage is 'relative' or 'absolute', not '%s'", arg);
		return CLI_USAGE;
	}
	a->diff.is_relative_total = arg[0] == 'r';
	return 0;
}

static int parse(struct diff_args *a, int argc, char **argv)
{
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Comparison", NULL, NULL, CLI_SECTION},
		{'s', "sort", "KEYS", "keys that form a row (default comm,dso,sym), as in clew report; +KEY adds one",
		 CLI_CALL, a, set_sort},
		{0, "normalize", "HOW", "what is compared: share of the recording (default); time, cpu: per second, per second of CPU time; "
		 "ref=SYMBOL: percent of that function; none: totals", CLI_CALL, a, set_norm},
		{0, "exact", NULL, "pair functions and files by their names as they are: with compilers' suffixes, and whatever the build id",
		 CLI_FLAG, &a->diff.is_exact},
		{'f', "force", NULL, "also compare recordings of different events or units", CLI_FLAG, &a->diff.is_forced},
		{'o', "order", "HOW", "what comes first: delta (default: what grew most), delta-abs, ratio, wdiff:WA,WB",
		 CLI_CALL, &a->diff.diff, set_order},
		{0, "significant", NULL, "only rows that differ by more than the noise of sampling",
		 CLI_FLAG, &a->diff.diff.only_significant},
		{0, "fail-above", "PERCENT", "exit with status 1 if a row grew significantly, by more than this", CLI_CALL, a, set_fail_above},
		{0, "percent-limit", "PERCENT", "omit rows below this share in all recordings", CLI_CALL, &a->diff.min_share, report_args_set_percent_limit},
		{0, "percentage", "HOW", "shares of all samples (absolute) or of the filtered ones (relative)",
		 CLI_CALL, a, set_percentage},
		{'d', "dsos", "NAMES", "only rows of these files (comma list)", CLI_STRING, &a->feed.dsos},
		{'S', "symbols", "NAMES", "only rows of these functions (comma list)", CLI_STRING, &a->feed.symbols},
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "json", NULL, "one JSON document", CLI_FLAG, &a->is_json},
		{0, "html", "FILE", "a page for a browser: flame graphs of A and B, coloured by what changed, timelines, and a table (rows by dso and sym)",
		 CLI_STRING, &a->html},
		{0, "tui", NULL, "browse the rows on the terminal; h shows the keys", CLI_FLAG, &a->is_tui},
		{'t', "field-separator", "TEXT", "put TEXT between columns instead of aligning them",
		 CLI_STRING, &a->text.separator},
		{0, "stdio-color", "WHEN", "always, never or auto (on a terminal)", CLI_STRING, &a->color},
		{0, "color", NULL, "colours where output has some (default); --no-color: none, as with NO_COLOR in the environment for --tui",
		 CLI_FLAG, &a->has_color},
		{'q', "quiet", NULL, "no notes", CLI_FLAG, &a->is_quiet},
		{0, "single-threaded", NULL, "read and count in one thread", CLI_FLAG, &a->is_single_threaded},
		{0, "Hardware trace", NULL, NULL, CLI_SECTION},
		{0, "itrace", "[OPTS]", "events to make of traces, as in clew report; --no-itrace: none",
		 CLI_CALL, &a->itrace, cli_itrace_set, true},
		CLI_ITRACE_INDEX_OPTION(&a->itrace),
		CLI_INPUT_COMMON_OPTIONS(&a->in),
		{0, "stdio", NULL, NULL, CLI_FLAG, &a->ignored},
		{0}
	};
	/* clang-format on */
	const struct cli_command cmd = {
		.name = "diff",
		.usage = "[OPTIONS] A B [C...]",
		.summary = "Compare recordings, row by row: what takes more of B than of A, and "
			   "whether that is more than noise.",
		.options = options,
		.examples =
			"  clew diff old.data new.data              what is a larger part now\n"
			"  clew diff --significant -s sym A B       without what may be noise\n"
			"  clew diff --normalize time A B           per second, not as a share\n"
			"  clew diff --fail-above=2 A B             for CI: status 1 if a function grew\n"
			"  clew diff --html diff.html A B           two flame graphs to look at\n",
	};

	return cli_parse(&cmd, argc, argv);
}

/* perf's: what 'record' wrote, and what it renamed before. */
static int take_paths(struct diff_args *a, int nr, char **words)
{
	bool has_stdin = false;

	if (nr == 1 || nr > REPORT_DIFF_MAX) {
		cli_error("diff: compares 2 to %d recordings", REPORT_DIFF_MAX);
		cli_hint("name them: clew diff old.data new.data");
		return CLI_USAGE;
	}
	a->paths[0] = "perf.data.old";
	a->paths[1] = "perf.data";
	a->nr_paths = nr ? (uint32_t)nr : 2;
	for (int i = 0; i < nr; i++) {
		bool is_stdin = !strcmp(words[i], "-");

		if (is_stdin && has_stdin) {
			cli_error("diff: only one recording can be on standard input");
			return CLI_USAGE;
		}
		has_stdin |= is_stdin;
		a->paths[i] = words[i];
	}
	a->in.path = a->paths[0];
	a->in.is_forced = a->diff.is_forced;
	return -1;
}

/* The page compares all functions of two recordings. */
static int check_page(const struct diff_args *a)
{
	if (a->nr_paths != 2) {
		cli_error("--html compares two recordings");
		return CLI_USAGE;
	}
	if (a->is_json || a->text.separator || a->has_limit || a->feed.dsos || a->feed.symbols) {
		cli_error("--html shows all functions: it excludes --json, -t, --fail-above, -d "
			  "and -S");
		return CLI_USAGE;
	}
	return -1;
}

int diff_args_parse(struct diff_args *a, int argc, char **argv)
{
	int at, status;

	*a = (struct diff_args){
		.has_color = true,
		.diff.sort = {{REPORT_COMM, REPORT_DSO, REPORT_SYM}, 3},
		.diff.diff.weights = {1,                                     1}
        };
	at = parse(a, argc, argv);
	if (at < 0)
		return -1 - at;
	if (a->is_quiet)
		cli_set_quiet();
	if (a->diff.norm == REPORT_DIFF_REF && !report_sort_has(&a->diff.sort, REPORT_SYM)) {
		cli_error("--normalize ref=SYMBOL needs rows of functions: sort by sym, too");
		return CLI_USAGE;
	}
	if (a->is_json && a->text.separator) {
		cli_error("--json and -t exclude each other");
		return CLI_USAGE;
	}
	if (a->is_tui && (a->is_json || a->html || a->text.separator)) {
		cli_error("--tui excludes --json, --html and -t");
		return CLI_USAGE;
	}
	if (a->is_tui && tui_check("--tui") != CLI_OK)
		return CLI_USAGE;
	status = cli_check_color(a->color);
	if (!a->has_color)
		a->color = "never";
	if (status < 0)
		status = take_paths(a, argc - at, argv + at);
	return status < 0 && a->html ? check_page(a) : status;
}
