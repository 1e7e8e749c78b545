/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/report_args_impl.h"

enum {
	/* Frames of a chain without --max-stack: as many as clew unwinds at most; graphs draw as
	 * many as a kernel records by default. */
	DEFAULT_STACK = 1024,
	DEFAULT_DRAWN = 127,
	DEFAULT_BRANCHES = 1 << 18
};
static const double default_share = 0.005; /* of call graph branches: 0.5 % */

static int set_grouped(void *is_ungrouped, const char *arg, bool is_negated)
{
	(void)arg;
	*(bool *)is_ungrouped = is_negated;
	return 0;
}

static int set_inverted(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;

	(void)arg;
	a->has_order = true;
	a->table.graph.is_callee = is_negated;
	return 0;
}

static int set_branches(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;

	(void)arg;
	a->branches = is_negated ? REPORT_BRANCHES_OFF : REPORT_BRANCHES_ON;
	return 0;
}

int report_args_set_percent_limit(void *share, const char *arg, bool is_negated)
{
	(void)is_negated;
	if (cli_parse_percent(arg, share))
		return CLI_OK;
	cli_error("--percent-limit takes a number from 0 to 100, not '%s'", arg);
	return CLI_USAGE;
}

static int set_percentage(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;

	(void)is_negated;
	if (strcmp(arg, "relative") != 0 && strcmp(arg, "absolute") != 0) {
		cli_error("--percentage is 'relative' or 'absolute', not '%s'", arg);
		return CLI_USAGE;
	}
	a->table.is_relative_total = arg[0] == 'r';
	return 0;
}

int report_args_set_max_stack(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;
	uint64_t v;

	(void)is_negated;
	if (!cli_parse_uint(arg, &v) || v > UINT32_MAX) {
		cli_error("--max-stack takes a number of frames, not '%s'", arg);
		return CLI_USAGE;
	}
	a->feed.max_stack = a->table.graph.max_depth = (uint32_t)v;
	a->has_limit = a->has_max_stack = true;
	a->feed.no_chains = v == 0;
	return 0;
}

static int set_widths(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;
	size_t nr = 0;
	const char *at = arg;

	(void)is_negated;
	a->has_widths = true;
	do {
		char *end;
		unsigned long v = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || (*end && *end != ',') || v > UINT16_MAX ||
		    nr == REPORT_MAX_WIDTHS) {
			cli_error(
				"-w takes up to %d widths in columns, such as 0,0,12,20,40, not '%s'",
				REPORT_MAX_WIDTHS, arg);
			return CLI_USAGE;
		}
		a->text.widths[nr++] = (uint16_t)v;
		at = *end ? end + 1 : NULL;
	} while (at);
	return 0;
}

static int no_window(void *to, const char *arg, bool is_negated)
{
	(void)to;
	(void)arg;
	(void)is_negated;
	cli_note("there is no window: --tui browses on the terminal, --html in a browser");
	return 0;
}

/* Options that only perf report has, and what to use instead. */
static int refuse(void *to, const char *arg, bool is_negated)
{
	(void)arg;
	(void)is_negated;
	cli_error("%s", (const char *)to);
	return CLI_USAGE;
}

#define REFUSED(short_name, name, arg, why)                                                       \
 {                                                                                                \
  short_name, name, arg, NULL, CLI_CALL, (void *)(uintptr_t) "--" name " is not supported: " why, \
	  refuse                                                                                  \
 }

static int parse(struct report_args *a, int argc, char **argv)
{
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Table", NULL, NULL, CLI_SECTION},
		{'s', "sort", "KEYS", "keys that form a row (default comm,dso,sym): comm, pid, "
				      "tid, cpu, cgroup, cgroup_id, local_weight, namespace, container, machine, vcpu, level, evidence, dso, sym, "
				      "srcline, srcfile; for branches symbol_from, symbol_to, "
				      "dso_from, dso_to, srcline_from, srcline_to, mispredict, "
				      "cycles, abort, in_tx; +KEY adds one", CLI_CALL, a, report_args_set_keys},
		{'b', "branch-stack", NULL, "count the branches of branch stacks, not samples "
					    "(default if the header says that there are any); "
					    "--no-branch-stack: samples", CLI_CALL, a, set_branches, true},
		{0, "branch", NULL, "branches that SPE sampled: how often each was mispredicted, not taken, and seen",
		 CLI_FLAG, &a->is_of_branches},
		{0, "mem", NULL, "memory accesses (SPE, perf mem): latencies by data source, by the sort keys "
				 "(default dso,sym), and cache lines with their remote and HITM accesses",
		 CLI_FLAG, &a->is_memory},
		{0, "children", NULL, "add a column with the share of a function and all its "
				      "callees, and sort by it (default with call chains); "
				      "--no-children: only its own share", CLI_FLAG, &a->has_children},
		{'F', "fields", "COLUMNS", "columns: overhead, overhead_children, sample, period, and sort keys",
		 CLI_CALL, a, report_args_set_fields},
		{'n', "show-nr-samples", NULL, "column of sample counts", CLI_FLAG, &a->text.has_nr},
		{0, "show-total-period", NULL, "column of periods", CLI_FLAG, &a->text.has_period},
		{0, "percent-limit", "PERCENT", "omit rows below this share", CLI_CALL, &a->table.min_share, report_args_set_percent_limit},
		{0, "percentage", "HOW", "shares of all samples (absolute) or of the filtered ones (relative)",
		 CLI_CALL, a, set_percentage},
		{'d', "dsos", "NAMES", "only rows of these files (comma list)", CLI_STRING, &a->feed.dsos},
		{'S', "symbols", "NAMES", "only rows of these functions (comma list)", CLI_STRING, &a->feed.symbols},
		{0, "symbol-filter", "PART", "only rows of functions with PART in their names",
		 CLI_STRING, &a->feed.symbol_part},
		{'U', "hide-unresolved", NULL, "ignore samples without a symbol", CLI_FLAG, &a->feed.hide_unresolved},
		{'t', "field-separator", "TEXT", "put TEXT between columns instead of aligning them",
		 CLI_STRING, &a->text.separator},
		{'w', "column-widths", "N,N,...", "widths of the columns, 0: as wide as their text; -w 0: do not truncate on a terminal",
		 CLI_CALL, a, set_widths},
		{0, "group", NULL, "events of a group side by side (default; --no-group: separately)",
		 CLI_CALL, &a->is_ungrouped, set_grouped, true},
		{0, "Call graphs", NULL, NULL, CLI_SECTION},
		{'g', "call-graph", "[STYLE,PERCENT,ORDER]", "below each row: graph (default), fractal, flat, folded or "
		 "none; least share shown (0.5); caller or callee first", CLI_CALL, a, report_args_set_graph, true},
		{'G', "inverted", NULL, "callers first, as 'caller' does", CLI_CALL, a, set_inverted, true},
		{0, "max-stack", "N", "take N frames of each chain (default 1024, of which graphs draw 127): the outermost if callers come first, else the innermost", CLI_CALL, a, report_args_set_max_stack},
		{0, "inline", NULL, "show inlined functions as separate frames", CLI_FLAG, &a->feed.has_inlines},
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "header", NULL, "print the recording's header first", CLI_FLAG, &a->has_header},
		{0, "header-only", NULL, "print only the header", CLI_FLAG, &a->is_header_only},
		{'I', "show-info", NULL, NULL, CLI_FLAG, &a->has_header},
		{0, "stats", NULL, "print only counts of records and samples", CLI_FLAG, &a->is_stats},
		{0, "json", NULL, "one JSON document", CLI_FLAG, &a->is_json},
		{0, "html", "FILE", "a page for a browser, in one file: flame graph, call tree, timeline and tables, filtered by time, thread and more",
		 CLI_STRING, &a->html},
		REPORT_MAX_SAMPLES_OPTION(a),
		{0, "tui", NULL, "browse the rows and their call graphs on the terminal; h shows the keys", CLI_FLAG, &a->is_tui},
		{0, "folded", NULL, "one line per call path, for flame graphs", CLI_FLAG, &a->is_folded},
		{0, "period", NULL, "with --folded: periods instead of sample counts", CLI_FLAG, &a->by_period},
		{0, "stdio-color", "WHEN", "always, never or auto (on a terminal)", CLI_STRING, &a->color},
		{0, "color", NULL, "colours where output has some (default); --no-color: none, as with NO_COLOR in the environment for --tui",
		 CLI_FLAG, &a->has_color},
		{'q', "quiet", NULL, "no notes", CLI_FLAG, &a->is_quiet},
		{0, "single-threaded", NULL, "read and count in one thread", CLI_FLAG, &a->is_single_threaded},
		{0, "Hardware trace", NULL, NULL, CLI_SECTION},
		{0, "itrace", "[OPTS]", "events to make of the trace (default i100usbe): i[PERIOD] instructions, b branches, c calls, "
		 "r returns, g[N] call chains; of SPE (default bMi1i) also M memory, f m t caches, a remote; --no-itrace: none", CLI_CALL, &a->itrace, cli_itrace_set, true},
		CLI_ITRACE_INDEX_OPTION(&a->itrace),
		CLI_INPUT_OPTIONS(&a->in),
		{0, "stdio", NULL, NULL, CLI_FLAG, &a->ignored},
		{0, "skip-empty", NULL, NULL, CLI_FLAG, &a->ignored},
		{'m', "modules", NULL, NULL, CLI_FLAG, &a->ignored},
		{0, "gtk", NULL, NULL, CLI_CALL, NULL, no_window},
		REFUSED(0, "hierarchy", NULL, "sort by fewer keys, or use --json"),
		REFUSED('D', "dump-raw-trace", NULL, "'clew script -D' prints every record in hex"),
		REFUSED('p', "parent", "REGEX", "sort by sym and look at callers with -g callee"),
		REFUSED(0, "mem-mode", NULL, "--mem shows them"),
		REFUSED('T', "threads", NULL, "sort by tid"),
		REFUSED(0, "tasks", NULL, "'clew script --show-task-events' lists them"),
		REFUSED(0, "mmaps", NULL, "'clew script --show-mmap-events' lists them"),
		REFUSED(0, "ignore-callees", "REGEX", "select rows with --symbols"),
		{0}
	};
	/* clang-format on */
	const struct cli_command cmd = {
		.name = "report",
		.usage = "[OPTIONS] [SYMBOL-PART]",
		.summary = "Show where the time of a recording was spent: functions and their "
			   "callers.",
		.options = options,
		.examples =
			"  clew report                              perf.data of this folder\n"
			"  clew report --no-children -g callee      hottest functions and their callers\n"
			"  clew report --sort dso --comms bash      libraries of the threads named bash\n"
			"  clew report --folded | flamegraph.pl     a flame graph\n"
			"  clew report --html report.html           a page to look at in a browser\n"
			"  clew report --tui                        browse on the terminal\n",
	};
	int at = cli_parse(&cmd, argc, argv);

	if (at >= 0 && at < argc)
		a->feed.symbol_part = argv[at++];
	if (at >= 0 && at < argc) {
		cli_error("report: unexpected argument '%s'", argv[at]);
		return -1 - CLI_USAGE;
	}
	return at;
}

/* Defaults where --max-stack and -g are not given. */
static void set_default_depth(struct report_args *a)
{
	if (!a->has_max_stack) {
		a->feed.max_stack = DEFAULT_STACK;
		a->table.graph.max_depth = DEFAULT_DRAWN;
	}
	if (!a->has_limit)
		a->table.graph.max_nodes = DEFAULT_BRANCHES;
}

void report_args_init(struct report_args *a)
{
	*a = (struct report_args){
		.has_children = true, .has_color = true, .in.takes_snapshot = true};
	a->table.graph.min_share = default_share;
	a->text.style = REPORT_GRAPH_TREE;
	a->text.has_periods = false;
}

int report_args_finish(struct report_args *a)
{
	int status;

	set_default_depth(a);
	report_args_set_sort(a, false);
	if (a->is_quiet)
		cli_set_quiet();
	status = cli_check_color(a->color);
	if (!a->has_color)
		a->color = "never";
	return status < 0 ? report_args_choose_output(a) : status;
}

int report_args_parse(struct report_args *a, int argc, char **argv)
{
	int at;

	report_args_init(a);
	argc = report_args_join_graph(a, argc, argv);
	at = parse(a, argc, argv);
	return at < 0 ? -1 - at : report_args_finish(a);
}
