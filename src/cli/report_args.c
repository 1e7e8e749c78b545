/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/report_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/tui.h"

enum {
	MAX_WORD = 64,
	/* Frames of a chain without --max-stack: as many as clew unwinds at most; graphs draw as
	 * many as a kernel records by default. */
	DEFAULT_STACK = 1024,
	DEFAULT_DRAWN = 127,
	DEFAULT_BRANCHES = 1 << 18
};
static const double default_share = 0.005; /* of call graph branches: 0.5 % */

int report_args_refuse_key(const char *option, const char *word, size_t len)
{
	if (report_sort_is_perf_key(word, len))
		cli_error("%s: '%.*s' is a key of perf report that clew report does not have",
			  option, (int)len, word);
	else
		cli_error("%s: there is no key '%.*s'", option, (int)len, word);
	cli_hint("keys: %s", report_sort_names());
	return CLI_USAGE;
}

static int take_keys(struct report_args *a, const char *option, const char *keys)
{
	const char *bad = NULL;
	size_t len = 0;

	a->is_sorted |= *keys != '+';
	if (report_sort_parse(&a->keys, keys, &bad, &len) != CLEW_OK)
		return report_args_refuse_key(option, bad, len);
	return 0;
}

static int set_sort(void *to, const char *arg, bool is_negated)
{
	(void)is_negated;
	return take_keys(to, "--sort", arg);
}

void report_args_set_sort(struct report_args *a, bool is_by_branch)
{
	static const struct report_sort of_samples = {
		{REPORT_COMM, REPORT_DSO, REPORT_SYM},
                3
        };
	static const struct report_sort of_ops = {
		{REPORT_DSO, REPORT_SYM},
                2
        };
	static const struct report_sort of_branches = {
		{REPORT_COMM, REPORT_DSO_FROM, REPORT_SYM_FROM, REPORT_SYM_TO, REPORT_CYCLES},
                5
        };

	a->feed.sort = (struct report_sort){.nr = 0};
	if (!a->is_sorted)
		a->feed.sort = is_by_branch                      ? of_branches
			     : a->is_memory || a->is_of_branches ? of_ops
								 : of_samples;
	report_sort_add(&a->feed.sort, &a->keys);
}

/* Is the word at @p at of @p len bytes @p name? */
static bool is_word(const char *at, size_t len, const char *name)
{
	return strlen(name) == len && !strncmp(at, name, len);
}

/* perf's --fields: columns of numbers and sort keys in one list. */
static int set_fields(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;
	char keys[512] = "";
	size_t used = 0;

	(void)is_negated;
	while (*arg) {
		size_t len = strcspn(arg, ", ");

		if (is_word(arg, len, "sample")) {
			a->text.has_nr = true;
		} else if (is_word(arg, len, "period")) {
			a->text.has_period = true;
		} else if (is_word(arg, len, "overhead_children")) {
			a->has_children = true;
		} else if (!is_word(arg, len, "overhead") && len) {
			if (used + len + 2 > sizeof(keys))
				return report_args_refuse_key("--fields", arg, len);
			if (used)
				keys[used++] = ',';
			memcpy(keys + used, arg, len);
			used += len;
			keys[used] = '\0';
		}
		arg += len;
		arg += *arg != '\0';
	}
	return used ? take_keys(a, "--fields", keys) : 0;
}

/* One comma-separated word of -g. */
static bool set_graph_word(struct report_args *a, const char *word, size_t len,
			   unsigned int *nr_numbers)
{
	char text[MAX_WORD], *end;
	double number;

	if (!len || len >= sizeof(text))
		return !len;
	memcpy(text, word, len);
	text[len] = '\0';
	if (!strcmp(text, "none"))
		a->text.style = REPORT_GRAPH_NONE;
	else if (!strcmp(text, "graph") || !strcmp(text, "fractal"))
		a->text.style = REPORT_GRAPH_TREE;
	else if (!strcmp(text, "flat"))
		a->text.style = REPORT_GRAPH_FLAT;
	else if (!strcmp(text, "folded"))
		a->text.style = REPORT_GRAPH_FOLDED;
	if (!strcmp(text, "graph") || !strcmp(text, "fractal"))
		a->table.graph.is_relative = a->text.is_relative = text[0] == 'f';
	if (!strcmp(text, "caller") || !strcmp(text, "callee")) {
		a->has_order = true;
		a->table.graph.is_callee = !strcmp(text, "callee");
	} else if (!strcmp(text, "address")) {
		a->feed.by_address = true;
	} else if (!strcmp(text, "period") || !strcmp(text, "percent")) {
		a->text.has_periods = !strcmp(text, "period");
	}
	number = strtod(text, &end);
	if (end != text && !*end && number >= 0) {
		a->has_limit = true;
		if ((*nr_numbers)++ == 0)
			a->table.graph.min_share = number / 100;
		else
			a->table.graph.max_leaves = number < UINT32_MAX ? (uint32_t)number : 0;
		return true;
	}
	return !strcmp(text, "none") || !strcmp(text, "graph") || !strcmp(text, "fractal") ||
	       !strcmp(text, "flat") || !strcmp(text, "folded") || !strcmp(text, "caller") ||
	       !strcmp(text, "callee") || !strcmp(text, "function") || !strcmp(text, "address") ||
	       !strcmp(text, "period") || !strcmp(text, "percent");
}

static int set_graph(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;
	unsigned int nr_numbers = 0;

	a->has_graph = !is_negated;
	if (is_negated) {
		a->text.style = REPORT_GRAPH_NONE;
		return 0;
	}
	for (; arg && *arg; arg += *arg != '\0') {
		size_t len = strcspn(arg, ",");

		if (!set_graph_word(a, arg, len, &nr_numbers)) {
			cli_error("-g: there is no '%.*s' for call graphs", (int)len, arg);
			cli_hint("-g STYLE,PERCENT,BRANCHES,ORDER,KEY,VALUE: graph|fractal|flat|"
				 "folded|none, caller|callee, function|address, percent|period");
			return CLI_USAGE;
		}
		arg += len;
	}
	return 0;
}

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
				      "cycles, abort, in_tx; +KEY adds one", CLI_CALL, a, set_sort},
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
		 CLI_CALL, a, set_fields},
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
		 "none; least share shown (0.5); caller or callee first", CLI_CALL, a, set_graph, true},
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

/* Would set_graph() take the word? */
static bool is_graph_spec(const char *word)
{
	struct report_args scratch = {0};
	unsigned int nr_numbers = 0;

	for (; *word; word += *word != '\0') {
		size_t len = strcspn(word, ",");

		if (!len || !set_graph_word(&scratch, word, len, &nr_numbers))
			return false;
		word += len;
	}
	return true;
}

/* perf takes "-g caller" as well as a bare -g: join the two words if the second belongs to -g. */
static int join_graph_words(struct report_args *a, int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++) {
		bool is_short = !strcmp(argv[i], "-g");
		size_t size = strlen(argv[i]) + strlen(argv[i + 1]) + 2;

		if (!is_short && strcmp(argv[i], "--call-graph") != 0)
			continue;
		if (!argv[i + 1][0] || !is_graph_spec(argv[i + 1]))
			continue;
		mem_free(a->joined);
		a->joined = mem_alloc(size);
		if (!a->joined)
			continue;
		snprintf(a->joined, size, "%s%s%s", argv[i], is_short ? "" : "=", argv[i + 1]);
		argv[i] = a->joined;
		memmove(&argv[i + 1], &argv[i + 2], (size_t)(argc - i - 1) * sizeof(argv[0]));
		return argc - 1;
	}
	return argc;
}

/* One event per operation is enough. */
static int choose_ops_events(struct report_args *a)
{
	bool is_off = a->itrace.is_off;
	int status = cli_itrace_set(&a->itrace, a->is_memory ? "M" : "b", false);

	a->itrace.is_off = is_off;
	a->itrace.is_implied = true;
	return status ? status : -1;
}

/* -w 0 asks for what these tables do: nothing is cut. */
static bool has_width(const struct report_args *a)
{
	for (size_t i = 0; i < REPORT_MAX_WIDTHS; i++) {
		if (a->text.widths[i])
			return true;
	}
	return false;
}

/* --mem and --branch: what is counted is neither samples nor branch stacks. */
static int choose_ops(struct report_args *a)
{
	if (!a->is_memory && !a->is_of_branches)
		return -1;
	if (a->is_memory && a->is_of_branches) {
		cli_error("--mem and --branch exclude each other");
		return CLI_USAGE;
	}
	if (a->is_stats || a->is_folded || a->branches == REPORT_BRANCHES_ON) {
		cli_error("%s has tables of its own: it excludes --stats, --folded and -b",
			  a->is_memory ? "--mem" : "--branch");
		return CLI_USAGE;
	}
	if (has_width(a)) {
		cli_error(
			"-w does not apply to the tables of %s: their columns are as wide as their "
			"text; -t separates them for other programs",
			a->is_memory ? "--mem" : "--branch");
		return CLI_USAGE;
	}
	a->feed.ops = a->is_memory ? REPORT_OPS_MEMORY : REPORT_OPS_BRANCHES;
	a->branches = REPORT_BRANCHES_OFF;
	a->has_children = false;
	a->text.style = REPORT_GRAPH_NONE;
	a->feed.no_chains = true;
	return a->itrace.is_set ? -1 : choose_ops_events(a);
}

/* The page's rows are functions of samples; all else is chosen in the browser. */
static int choose_page(struct report_args *a)
{
	if (a->is_memory || a->is_of_branches || a->branches == REPORT_BRANCHES_ON) {
		cli_error("--html shows samples: it excludes --mem, --branch and -b");
		return CLI_USAGE;
	}
	if (a->keys.nr) {
		cli_error("--html has views of its own: it takes no -s and no -F");
		return CLI_USAGE;
	}
	if (a->feed.symbol_part || a->feed.symbols || a->feed.dsos) {
		cli_error("--html takes all functions: search in the page, or focus on one there");
		return CLI_USAGE;
	}
	a->branches = REPORT_BRANCHES_OFF;
	a->feed.sort = (struct report_sort){
		{REPORT_DSO, REPORT_SYM},
                2
        };
	return -1;
}

static int choose_tui(const struct report_args *a)
{
	if (a->is_memory || a->is_of_branches) {
		cli_error("--tui shows rows of samples: it excludes --mem and --branch");
		return CLI_USAGE;
	}
	if (a->text.separator || a->is_header_only) {
		cli_error("--tui excludes -t and --header-only; its key i shows the header");
		return CLI_USAGE;
	}
	return tui_check("--tui") == CLI_OK ? -1 : CLI_USAGE;
}

static int choose_output(struct report_args *a)
{
	int status = choose_ops(a);

	if (status >= 0)
		return status;
	if (a->is_stats + a->is_json + a->is_folded + a->is_tui + !!a->html > 1) {
		cli_error("--stats, --json, --folded, --html and --tui exclude each other");
		return CLI_USAGE;
	}
	if (a->html && (status = choose_page(a)) >= 0)
		return status;
	if (a->is_tui && (status = choose_tui(a)) >= 0)
		return status;
	a->output = a->is_stats  ? REPORT_STATS
		  : a->is_json   ? REPORT_JSON
		  : a->is_folded ? REPORT_FOLDED
		  : a->html      ? REPORT_HTML
		  : a->is_tui    ? REPORT_TUI
				 : REPORT_TABLE;
	if (a->branches == REPORT_BRANCHES_ON && (a->is_stats || a->is_folded)) {
		cli_error("--branch-stack applies to tables: --stats and --folded count samples");
		return CLI_USAGE;
	}
	return -1;
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
	return status < 0 ? choose_output(a) : status;
}

int report_args_parse(struct report_args *a, int argc, char **argv)
{
	int at;

	report_args_init(a);
	argc = join_graph_words(a, argc, argv);
	at = parse(a, argc, argv);
	return at < 0 ? -1 - at : report_args_finish(a);
}
