/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/top_args.h"

#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/event_args.h"
#include "cli/report_args.h"
#include "cli/tui.h"

enum { TEXT_ROWS = 40, DEFAULT_STACK = 127, FIRST_NS = 300000000 };
static const double default_graph_share = 0.005; /* of call graph branches: 0.5 % */

bool top_parse_seconds(const char *text, uint64_t *ret_ns)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0.1 && v <= TOP_MAX_SECONDS))
		return false;
	*ret_ns = (uint64_t)(v * 1e9);
	return true;
}

static int set_delay(void *to, const char *arg, bool is_negated)
{
	struct top_args *a = to;

	(void)is_negated;
	if (top_parse_seconds(arg, &a->top.refresh_ns))
		return CLI_OK;
	cli_error("-d %s: expected seconds between refreshes, from 0.1 to %d", arg,
		  TOP_MAX_SECONDS);
	return CLI_USAGE;
}

static int set_sort(void *to, const char *arg, bool is_negated)
{
	struct top_args *a = to;
	const char *bad = NULL;
	size_t len = 0;
	enum report_key k;

	(void)is_negated;
	a->is_sorted |= *arg != '+';
	if (report_sort_parse(&a->keys, arg, &bad, &len) != CLEW_OK)
		return report_args_refuse_key("--sort", bad, len);
	k = report_sort_branch_key(&a->keys);
	if (k == REPORT_NR_KEYS)
		return CLI_OK;
	cli_error("--sort: '%s' is a key for branches, but clew top counts samples",
		  report_key_name(k));
	return CLI_USAGE;
}

static int set_max_stack(void *to, const char *arg, bool is_negated)
{
	struct top_args *a = to;
	uint64_t v;

	(void)is_negated;
	if (cli_parse_uint(arg, &v) && v && v <= UINT32_MAX) {
		a->top.feed.max_stack = a->style.table.graph.max_depth = (uint32_t)v;
		return CLI_OK;
	}
	cli_error("--max-stack takes a number of frames, not '%s'", arg);
	return CLI_USAGE;
}

static int set_max_memory(void *to, const char *arg, bool is_negated)
{
	struct top_args *a = to;
	uint64_t v;

	(void)is_negated;
	if (cli_parse_size(arg, &v) && v >= TOP_MIN_BYTES) {
		a->top.max_bytes = v;
		return CLI_OK;
	}
	cli_error("--max-memory %s: expected a size of 32M or more", arg);
	return CLI_USAGE;
}

static void settle_rows(struct top_args *a)
{
	static const struct report_sort of_samples = {
		{REPORT_DSO, REPORT_SYM},
                2
        };
	struct report_feed_opts *f = &a->top.feed;

	if (!a->is_sorted)
		f->sort = of_samples;
	report_sort_add(&f->sort, &a->keys);
	a->style.has_graph = a->o.stacks.kind != REC_STACKS_NONE;
	a->style.table.by_total = a->has_children && a->style.has_graph;
	a->style.table.graph.is_callee = !a->style.table.by_total;
	a->style.table.graph.min_share = a->style.text.min_share = default_graph_share;
	a->style.text.style = a->style.has_graph ? REPORT_GRAPH_TREE : REPORT_GRAPH_NONE;
	f->no_chains = f->no_graphs = !a->style.has_graph;
	f->no_paths = true;
	f->keeps_outermost = a->style.table.by_total;
}

static void settle_analysis(struct top_args *a)
{
	struct ana_opts *o = &a->top.analysis;

	*o = a->in.opts;
	o->symbols.force = a->in.is_forced;
	o->no_chains = a->top.feed.no_chains;
	o->wants_lines = report_sort_has_lines(&a->top.feed.sort);
	o->wants_records = report_sort_has(&a->top.feed.sort, REPORT_NAMESPACE) ||
			   report_sort_has(&a->top.feed.sort, REPORT_CONTAINER);
	o->wants_who = report_sort_has_who(&a->top.feed.sort);
	a->o.with_namespaces |= o->wants_records;
	a->o.with_cgroups |= report_sort_has(&a->top.feed.sort, REPORT_CGROUP) ||
			     report_sort_has(&a->top.feed.sort, REPORT_CGROUP_ID) ||
			     report_sort_has(&a->top.feed.sort, REPORT_CONTAINER);
}

static int settle(struct top_args *a)
{
	int status;

	if (a->is_stdio && a->is_json) {
		cli_error("--stdio and --json exclude each other");
		return CLI_USAGE;
	}
	a->output = a->is_json ? TOP_JSON : a->is_stdio ? TOP_STDIO : TOP_SCREEN;
	if (!event_args_period(&a->o, a->count))
		return CLI_USAGE;
	if (a->o.is_store_stacks || a->o.keeps_deferred) {
		cli_error("--call-graph: top merges stacks at once: ',deferred' is not for it");
		return CLI_USAGE;
	}
	if (cli_input_set_build_ids(&a->in) != CLI_OK)
		return CLI_FAILED;
	if (!a->max_rows && a->output == TOP_STDIO)
		a->max_rows = TEXT_ROWS;
	a->style.select.max_rows = (size_t)a->max_rows;
	if (a->output == TOP_SCREEN) {
		a->top.first_ns = FIRST_NS;
		a->top.keeps_history = true;
	}
	event_args_environment(&a->o, &a->cache_dir);
	settle_rows(a);
	settle_analysis(a);
	if (a->output == TOP_SCREEN && tui_check("the screen of top") != CLI_OK) {
		cli_hint("--stdio prints tables, --json objects");
		return CLI_USAGE;
	}
	status = cli_check_color(a->color);
	if (!a->has_color)
		a->color = "never";
	return status;
}

static int parse(struct top_args *a, int argc, char **argv)
{
	struct rec_options *o = &a->o;
	struct top_select *select = &a->style.select;
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Events", NULL, NULL, CLI_SECTION},
		{'e', "event", "EVENT", "event, or list of events; see 'clew list' (default: cycles, or cpu-clock without counters)", CLI_CALL, &a->events, event_args_add},
		{0, "filter", "TEXT", "condition on the fields of the tracepoints of the last -e", CLI_CALL, &a->events, event_args_filter},
		{'F', "freq", "HZ", "samples per second and CPU, or max (default: 4000)", CLI_CALL, o, event_args_freq},
		{'c', "count", "N", "one sample every N events", CLI_STRING, &a->count},
		{0, "all-user", NULL, "count all events in user space only", CLI_FLAG, &o->is_all_user},
		{0, "all-kernel", NULL, "count all events in the kernel only", CLI_FLAG, &o->is_all_kernel},

		EVENT_TARGET_OPTIONS(o, "running threads (comma list), without their children"),
		{'i', "no-inherit", NULL, "do not record children", CLI_CALL, &o->inherit, event_args_no_inherit},

		{0, "Refreshes", NULL, NULL, CLI_SECTION},
		{'d', "delay", "SECONDS", "between refreshes, at least 0.1 (default: 2)", CLI_CALL, a, set_delay},
		{'n', "refreshes", "N", "end after N refreshes", CLI_UINT, &a->max_refreshes},
		{'z', "zero", NULL, "each refresh shows what is new alone; without it, earlier counts fade by a tenth", CLI_FLAG, &a->top.is_zeroed},

		{0, "Rows", NULL, NULL, CLI_SECTION},
		{'s', "sort", "KEYS", "keys that form a row (default dso,sym), as of 'clew report'; +KEY adds one", CLI_CALL, a, set_sort},
		{'K', "hide-kernel-symbols", NULL, "hide rows of the kernel", CLI_FLAG, &select->hides_kernel},
		{'U', "hide-user-symbols", NULL, "hide rows of user space", CLI_FLAG, &select->hides_user},
		{'f', "count-filter", "N", "hide rows with fewer samples", CLI_UINT, &select->min_samples},
		{0, "percent-limit", "PERCENT", "hide rows below this share", CLI_CALL, &a->style.table.min_share, report_args_set_percent_limit},
		{'E', "entries", "N", "show N rows (default: 40 with --stdio, else all)", CLI_UINT, &a->max_rows},

		{0, "Call graphs", NULL, NULL, CLI_SECTION},
		{'g', NULL, NULL, "call chains, by the best method that works here (--call-graph auto)", CLI_CALL, o, event_args_callgraph_auto},
		{0, "call-graph", "KIND", "call chains: auto, sframe[,immediate], defer, dwarf[,BYTES of stack], fp[,DEPTH], lbr, no", CLI_CALL, o, event_args_callgraph},
		{0, "children", NULL, "with call chains: add the share of a function and all its callees, and sort by it (default); --no-children: only its own share", CLI_FLAG, &a->has_children},
		{0, "max-stack", "N", "take N frames of each chain (default 127)", CLI_CALL, a, set_max_stack},

		{0, "Symbols", NULL, NULL, CLI_SECTION},
		{'k', "vmlinux", "FILE", "kernel image with symbols", CLI_STRING, &a->in.opts.symbols.vmlinux},
		{0, "kallsyms", "FILE", "kernel symbols in place of /proc/kallsyms", CLI_STRING, &a->in.opts.symbols.kallsyms},
		{0, "demangle", NULL, "C++ and Rust names as in the source (--no-demangle: as linked)", CLI_CALL, &a->in.opts.symbols.no_demangle, cli_input_set_demangle, true},
		{0, "force", NULL, "perf maps of other users, too", CLI_FLAG, &a->in.is_forced},

		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "color", NULL, "colours where output has some (default); --no-color: none, as with NO_COLOR in the environment for the screen", CLI_FLAG, &a->has_color},
		{0, "stdio", NULL, "print a table at each refresh", CLI_FLAG, &a->is_stdio},
		{0, "json", NULL, "print one JSON object per line at each refresh", CLI_FLAG, &a->is_json},
		{0, "stdio-color", "WHEN", "always, never or auto (on a terminal)", CLI_STRING, &a->color},
		{'m', "mmap-pages", "SIZE", "buffer per CPU: a number of pages, or a size such as 4M", CLI_CALL, o, event_args_pages},
		{0, "max-memory", "SIZE", "most memory to use (default: 512M): half of it for symbols, of which those not used for longest go first", CLI_CALL, a, set_max_memory},
		{'q', "quiet", NULL, "no notes", CLI_FLAG, &a->is_quiet},
		{'v', "verbose", NULL, "report what was opened", CLI_FLAG, &o->is_verbose},

		{0, "hide_kernel_symbols", NULL, NULL, CLI_FLAG, &select->hides_kernel},
		{0, "hide_user_symbols", NULL, NULL, CLI_FLAG, &select->hides_user},
		ONLY_IN_PERF('D', "dump-symtab", NULL, "-D is not supported: 'clew report -v' says where symbols come from"),
		ONLY_IN_PERF('r', "realtime", "PRIORITY", "-r is not supported: use chrt"),
		ONLY_IN_PERF(0, "sym-annotate", "SYMBOL", "--sym-annotate is not supported: 'a' on a row, or 'clew annotate SYMBOL'"),
		ONLY_IN_PERF('b', "branch-any", NULL, "-b is not supported: 'clew record -b' and 'clew report' show branches"),
		ONLY_IN_PERF('j', "branch-filter", "KINDS", "-j is not supported: 'clew record -j' and 'clew report' show branches"),
		ONLY_IN_PERF(0, "tui", NULL, "--tui is not needed: without --stdio and --json there is a screen"),
		{0}};
	/* clang-format on */
	const struct cli_command command = {
		.name = "top",
		.usage = "[OPTIONS] [-a]\n[OPTIONS] -p PID | -t TID | -u USER | -C CPUS\n"
			 "[OPTIONS] -- COMMAND [ARGS]",
		.summary = "Show where the time goes, as it goes.",
		.options = options,
		.stops_at_word = true,
		.examples =
			"  clew top                                 the whole machine\n"
			"  clew top -g -p 1234                      a running process, with its callers\n"
			"  clew top --stdio -n 3 -d 5               three tables, of five seconds each\n"
			"  clew top --json -n 1 -z -s comm -- make  which programs took the first two seconds\n",
	};

	return cli_parse(&command, argc, argv);
}

int top_args_parse(struct top_args *a, int argc, char **argv)
{
	struct rec_options *o = &a->o;
	int first, status;

	a->has_children = a->has_color = true;
	a->top.refresh_ns = 2000000000;
	a->top.max_bytes = TOP_DEFAULT_BYTES;
	a->top.feed.max_stack = a->style.table.graph.max_depth = DEFAULT_STACK;
	first = parse(a, argc, argv);
	if (first < 0)
		return -1 - first;
	if (a->is_quiet)
		cli_set_quiet();
	if (first < argc)
		o->argv = argv + first;
	o->command_line = (const char *const *)argv;
	o->nr_command_line = (size_t)argc;
	status = settle(a);
	o->keeps_deferred = true; /* they are put into their samples as these are read */
	return status;
}

void top_args_done(struct top_args *a)
{
	rec_events_done(&a->events);
	buf_done(&a->cache_dir);
	cli_input_done(&a->in);
}
