/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/stat_args.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/options.h"
#include "cli/event_args.h"
#include "record/count/count_default.h"
#include "record/plan/rec_parse.h"

enum { MIN_INTERVAL_MS = 1, MAX_MS = 1000000000, MAX_RUNS = 1000000 };

static int set_delay(void *to, const char *arg, bool is_negated)
{
	struct rec_options *o = to;
	struct rec_error error;

	(void)is_negated;
	if (rec_parse_delay(o, arg, &error) != CLEW_OK)
		return event_args_refuse(&error);
	if (o->delay_ms >= 0)
		return CLI_OK;
	cli_error("-D -1 is not supported: there is no --control that could enable the events");
	return CLI_USAGE;
}

static int set_separator(void *to, const char *arg, bool is_negated)
{
	struct stat_style *s = to;

	(void)is_negated;
	s->form = STAT_FIELDS;
	s->separator = !strcmp(arg, "\\t") ? "\t" : arg;
	if (*arg)
		return CLI_OK;
	cli_error("-x needs a separator, such as -x ,");
	return CLI_USAGE;
}

static bool has_tasks(const struct rec_options *o)
{
	return o->pids || o->tids || o->user;
}

static bool is_wide(const struct rec_options *o)
{
	return !has_tasks(o) && (o->is_system_wide || o->cpus || !o->argv);
}

static int add_default_events(struct stat_args *a)
{
	clew_auto(buf_done) struct buf text = {0};

	count_default_events(NULL, is_wide(&a->o), a->detail, &text);
	return event_args_add(&a->events, buf_cstr(&text), false);
}

static bool check_range(const char *option, uint64_t value, uint64_t least, uint64_t most)
{
	if (!value || (value >= least && value <= most))
		return true;
	cli_error("%s %llu: expected a number from %llu to %llu", option, (unsigned long long)value,
		  (unsigned long long)least, (unsigned long long)most);
	return false;
}

static int settle_parts(struct stat_args *a)
{
	if (a->by_cpu + a->by_core + a->by_socket + a->by_thread > 1) {
		cli_error("-A, --per-core, --per-socket and --per-thread exclude each other");
		return CLI_USAGE;
	}
	if ((a->by_cpu || a->by_core || a->by_socket) && !is_wide(&a->o)) {
		cli_error("-A, --per-core and --per-socket need -a or -C: tasks are counted "
			  "wherever they run");
		return CLI_USAGE;
	}
	if (a->by_thread && !has_tasks(&a->o)) {
		cli_error("--per-thread needs running tasks: -p, -t or -u");
		return CLI_USAGE;
	}
	a->plan.by = a->by_cpu    ? COUNT_BY_CPU
		   : a->by_core   ? COUNT_BY_CORE
		   : a->by_socket ? COUNT_BY_SOCKET
		   : a->by_thread ? COUNT_BY_THREAD
				  : COUNT_BY_ALL;
	return CLI_OK;
}

static int settle_times(struct stat_args *a)
{
	if (!check_range("-I", a->interval_ms, MIN_INTERVAL_MS, MAX_MS) ||
	    !check_range("--timeout", a->timeout_ms, 1, MAX_MS) ||
	    !check_range("-r", a->nr_runs, 1, MAX_RUNS))
		return CLI_USAGE;
	if (a->nr_runs > 1 && !a->o.argv) {
		cli_error("-r needs a command to run again");
		return CLI_USAGE;
	}
	if (a->nr_runs > 1 && a->interval_ms) {
		cli_error("-r and -I exclude each other: the mean of runs, or counts over time");
		return CLI_USAGE;
	}
	if (a->plan.max_intervals && !a->interval_ms) {
		cli_error("--interval-count needs -I");
		return CLI_USAGE;
	}
	if (a->is_appended && !a->output) {
		cli_error("--append needs -o");
		return CLI_USAGE;
	}
	a->plan.nr_runs = (uint32_t)a->nr_runs;
	a->plan.interval_ms = (uint32_t)a->interval_ms;
	a->plan.timeout_ms = (uint32_t)a->timeout_ms;
	return CLI_OK;
}

static int settle(struct stat_args *a)
{
	int status = settle_times(a);

	if (status == CLI_OK)
		status = settle_parts(a);
	if (status != CLI_OK)
		return status;
	if (a->is_json && a->style.form == STAT_FIELDS) {
		cli_error("-x and --json exclude each other");
		return CLI_USAGE;
	}
	if (a->is_json)
		a->style.form = STAT_JSON;
	a->style.is_interval = a->interval_ms;
	a->plan.is_unscaled = !a->is_scaled;
	a->o.is_verbose = a->verbose;
	a->o.search_path = getenv("PATH");
	if (a->events.events.nr && a->is_null) {
		cli_error("-n counts no events: it excludes -e");
		return CLI_USAGE;
	}
	return a->events.events.nr || a->is_null ? CLI_OK : add_default_events(a);
}

static int parse(struct stat_args *a, int argc, char **argv)
{
	struct rec_options *o = &a->o;
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Events", NULL, NULL, CLI_SECTION},
		{'e', "event", "EVENT", "event, list or {group} of events; see 'clew list'", CLI_CALL, &a->events, event_args_add},
		{0, "filter", "TEXT", "condition on the fields of the tracepoints of the last -e", CLI_CALL, &a->events, event_args_filter},
		{'d', "detailed", NULL, "events of caches, too; -dd and -ddd: of TLBs and prefetches", CLI_COUNT, &a->detail},
		{'n', "null", NULL, "no events: how long the command takes", CLI_FLAG, &a->is_null},
		{0, "all-user", NULL, "count all events in user space only", CLI_FLAG, &o->is_all_user},
		{0, "all-kernel", NULL, "count all events in the kernel only", CLI_FLAG, &o->is_all_kernel},
		{0, "scale", NULL, "scale counts of events that shared a counter (default; --no-scale)", CLI_FLAG, &a->is_scaled},

		EVENT_TARGET_OPTIONS(o, "running threads (comma list)"),
		{'i', "no-inherit", NULL, "do not count children", CLI_CALL, &o->inherit, event_args_no_inherit},

		{0, "When", NULL, NULL, CLI_SECTION},
		{'r', "repeat", "N", "run the command N times; print the mean, and how far it may be off", CLI_UINT, &a->nr_runs},
		{'I', "interval-print", "MS", "print what was counted in each MS milliseconds", CLI_UINT, &a->interval_ms},
		{0, "interval-count", "N", "with -I: stop after N intervals", CLI_UINT, &a->plan.max_intervals},
		{0, "timeout", "MS", "stop after MS milliseconds", CLI_UINT, &a->timeout_ms},
		{'D', "delay", "MS", "begin to count after MS milliseconds", CLI_CALL, o, set_delay},

		{0, "Parts", NULL, NULL, CLI_SECTION},
		{'A', "no-aggr", NULL, "each CPU separately", CLI_FLAG, &a->by_cpu},
		{0, "per-core", NULL, "each core separately", CLI_FLAG, &a->by_core},
		{0, "per-socket", NULL, "each socket separately", CLI_FLAG, &a->by_socket},
		{0, "per-thread", NULL, "each thread separately; needs -p, -t or -u", CLI_FLAG, &a->by_thread},

		{0, "Output", NULL, NULL, CLI_SECTION},
		{'o', "output", "FILE", "file to write (default: standard error)", CLI_STRING, &a->output},
		{0, "append", NULL, "with -o: add to the file", CLI_FLAG, &a->is_appended},
		{'x', "field-separator", "SEP", "fields with this separator between them, as perf's", CLI_CALL, &a->style, set_separator},
		{'j', "json", NULL, "one JSON object per line, as perf's", CLI_FLAG, &a->is_json},
		{'B', "big-num", NULL, "group digits as the locale does (default; --no-big-num)", CLI_FLAG, &a->has_groups},
		{'q', "quiet", NULL, "print errors and counts only", CLI_FLAG, &a->is_quiet},
		{'v', "verbose", NULL, "say why an event is not counted", CLI_COUNT, &a->verbose},

		{0, "json-output", NULL, NULL, CLI_FLAG, &a->is_json},
		ONLY_IN_PERF('M', "metrics", "NAMES", "-M is not supported: it has no metrics of vendors"),
		ONLY_IN_PERF(0, "metric-only", NULL, "--metric-only is not supported: '--json' has metrics and counts"),
		ONLY_IN_PERF(0, "topdown", NULL, "--topdown is not supported"),
		ONLY_IN_PERF('T', "transaction", NULL, "-T is not supported: name the events by -e"),
		ONLY_IN_PERF(0, "control", "SPEC", "--control is not supported; -D and --timeout bound what is counted"),
		ONLY_IN_PERF(0, "table", NULL, "--table is not supported: -r prints the mean and its error"),
		ONLY_IN_PERF(0, "pre", "COMMAND", "--pre is not supported: run it in a script around 'clew stat'"),
		ONLY_IN_PERF(0, "post", "COMMAND", "--post is not supported: run it in a script around 'clew stat'"),
		ONLY_IN_PERF(0, "log-fd", "N", "--log-fd is not supported: use -o /dev/fd/N"),
		ONLY_IN_PERF(0, "summary", NULL, "--summary is not supported"),
		ONLY_IN_PERF(0, "per-die", NULL, "--per-die is not supported; --per-core names dies"),
		ONLY_IN_PERF(0, "per-node", NULL, "--per-node is not supported; -A prints each CPU"),
		ONLY_IN_PERF(0, "for-each-cgroup", "NAMES", "--for-each-cgroup is not supported: name an event for each by -e, and the cgroups by -G"),
		{0}};
	/* clang-format on */
	const struct cli_command command = {
		.name = "stat",
		.usage = "[OPTIONS] -- COMMAND [ARGS]\n[OPTIONS] -p PID | -t TID | -u USER | -a",
		.summary = "Count events of a command, of running tasks, or of the machine.",
		.options = options,
		.stops_at_word = true,
		.examples =
			"  clew stat -- ./program                       what it took: time, faults, cycles\n"
			"  clew stat -r 5 -x , -e page-faults ./program the mean of five runs, as fields\n"
			"  clew stat -a -A -I 1000 -e context-switches  each CPU's switches, every second\n",
	};

	return cli_parse(&command, argc, argv);
}

int stat_args_parse(struct stat_args *a, int argc, char **argv)
{
	int first;

	a->o.is_counting = a->is_scaled = a->has_groups = true;
	first = parse(a, argc, argv);
	if (first < 0)
		return -1 - first;
	if (a->is_quiet)
		cli_set_quiet();
	if (first < argc)
		a->o.argv = argv + first;
	first = settle(a);
	return first == CLI_OK ? -1 : first;
}

void stat_args_done(struct stat_args *a)
{
	rec_events_done(&a->events);
}
