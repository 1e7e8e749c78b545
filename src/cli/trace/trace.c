/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/trace/trace.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/trace/trace_commands.h"
#include "trace/snapshot/cs_snapshot.h"

/* --- which events --- */

static int choose_events(struct trace_command *c)
{
	const char *at = c->events;

	c->wanted_events = at ? 0 : TRACE_RANGES_ALL_EVENTS;
	while (at && *at) {
		size_t n = strcspn(at, ",");
		bool is_known = n == 4 && !strncmp(at, "none", n);

		for (unsigned int k = 0; k < TRACE_RANGES_NR_KINDS; k++) {
			const char *word = trace_event_word((enum clew_trace_kind)k);

			if (!word || strlen(word) != n || strncmp(word, at, n))
				continue;
			c->wanted_events |= 1u << k;
			is_known = true;
		}
		if (!is_known) {
			cli_error("--events: there is no '%.*s'", (int)n, at);
			cli_hint("'man clew-trace' lists them; 'none' is ranges only");
			return CLI_USAGE;
		}
		at += n + (at[n] == ',');
	}
	return CLI_OK;
}

/* --- the run --- */

/* Only the summary and JSON have sampled operations: they are no path of execution. */
static void skip_operations(struct trace_command *c)
{
	bool has_any = false;

	for (size_t i = 0; i < c->etm.trace->nr_units; i++) {
		const struct trace_decoder *d = c->etm.trace->units[i].decoder;

		if (c->etm.skips[i] || !d || !d->ops)
			continue;
		c->etm.skips[i] = has_any = true;
	}
	if (has_any)
		trace_report_operations(c);
}

static enum clew_err print(struct trace_command *c, struct clew_diag *diag)
{
	if (c->is_digest)
		return trace_print_digest(c, diag);
	if (c->is_edges)
		return trace_print_edges(c, diag);
	return trace_print_summary(c, diag);
}

static int decode(struct trace_command *c)
{
	struct clew_diag diag = {0};
	enum clew_err err;

	if (c->is_digest || c->is_edges)
		skip_operations(c);
	if (c->etm.in.is_snapshot)
		cs_snapshot_set_piece(c->etm.trace, c->piece_bytes);
	c->sink = cli_stdout_sink(&c->sink_diag);
	cli_pager_start();
	err = print(c, &diag);
	cli_pager_done();
	return cli_etm_finish(&c->etm, err, &diag, &c->sink_diag, c->is_digest || c->is_edges);
}

static int run(struct trace_command *c)
{
	int status = choose_events(c);

	if (status != CLI_OK)
		return status;
	if (c->is_ranges)
		return trace_ranges(c);
	status = cli_etm_begin(&c->etm);
	if (status == CLI_OK)
		status = decode(c);
	cli_etm_done(&c->etm);
	return status;
}

static int take_fields(void *to, const char *arg, bool is_negated)
{
	struct trace_command *c = to;

	(void)is_negated;
	if (strcmp(arg, "+who") != 0 && strcmp(arg, "who") != 0) {
		cli_error("trace -F: the one field to add is +who, not '%s'", arg);
		cli_hint(
			"clew script --itrace=b -F LIST prints branches in columns of your choice");
		return CLI_USAGE;
	}
	c->wants_who = true;
	return 0;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_command c = {.nr_threads = 1};
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "ranges", NULL, "what was executed, one line per range and event",
		 CLI_FLAG, &c.is_ranges},
		{0, "digest", NULL, "one line per trace ID: instructions, SHA-256 of their addresses",
		 CLI_FLAG, &c.is_digest},
		{0, "edges", NULL, "how often each outcome of each branch occurred",
		 CLI_FLAG, &c.is_edges},
		{0, "json", NULL, "JSON, one object per line", CLI_FLAG, &c.is_json},
		{0, "events", "LIST", "with --ranges: only these events (comma list), or none",
		 CLI_STRING, &c.events},
		{'F', "fields", "+who", "with --ranges: add who ran, and what proves it", CLI_CALL, &c, take_fields},
		{0, "split-source", NULL, "with --ranges: end ranges also at branches on the way "
					  "to a source address packet's address", CLI_FLAG, &c.splits_source_ranges},
		{0, "id", "IDS", "only these trace IDs, in hex (comma list)", CLI_STRING, &c.etm.ids},
		{0, "threads", "N", "decode with N threads, at most 4 (default: 1; 0: as many as CPUs)",
		 CLI_UINT, &c.nr_threads},
		{0, "piece-bytes", "N", NULL, CLI_UINT, &c.piece_bytes},
		{0, "Input", NULL, NULL, CLI_SECTION},
		{'i', "input", "FILE", "recording, or directory of an OpenCSD snapshot (default: perf.data)",
		 CLI_STRING, &c.etm.in.path},
		{'f', "force", NULL, NULL, CLI_FLAG, &c.etm.in.is_forced},
		{'v', "verbose", NULL, NULL, CLI_COUNT, &c.etm.in.verbose},
		{'C', "cpu", "CPUS", "only the trace units of these CPUs, such as 0-2,5",
		 CLI_STRING, &c.etm.in.opts.filter.cpus},
		{0, "symfs", "DIR", "look for the recording's files below DIR",
		 CLI_STRING, &c.etm.in.opts.symbols.symfs},
		{'k', "vmlinux", "FILE", "the recorded kernel", CLI_STRING, &c.etm.in.opts.symbols.vmlinux},
		{0, "kallsyms", "FILE", "kernel symbols in place of /proc/kallsyms", CLI_STRING, &c.etm.in.opts.symbols.kallsyms},
		CLI_GUEST_OPTIONS(&c.etm.in),
		CLI_MAX_MEMORY_OPTION(&c.etm.in),
		CLI_ETM_RAW_OPTIONS(c.etm.raw),
		{0, "memory", "LIST", "the executed code: FILE@ADDRESS (comma list)", CLI_STRING,
		 &c.etm.raw.memory},
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "trace",
		.usage = "[-i FILE|DIR] [--ranges | --digest | --edges] [OPTIONS]",
		.summary = "Show what a hardware trace (CoreSight ETMv4, ETE, Arm SPE) of a "
			   "recording or an OpenCSD snapshot recorded as executed.",
		.options = options,
		.examples = "  clew trace -i snapshot/ --ranges --id=10\n"
			    "  clew trace -i perf.data --edges --cpu=3\n",
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	if (first < argc) {
		cli_error("trace takes no argument '%s'", argv[first]);
		cli_hint("name a CoreSight trace with -i %s; system calls, as perf trace shows "
			 "them: clew record -e 'syscalls:*' -- PROGRAM && clew script",
			 argv[first]);
		return CLI_USAGE;
	}
	if (c.is_ranges + c.is_digest + c.is_edges > 1) {
		cli_error("--ranges, --digest and --edges exclude each other");
		return CLI_USAGE;
	}
	if (c.wants_who && !c.is_ranges) {
		cli_error("-F +who adds to the lines of --ranges");
		cli_hint(
			"clew script --stats counts who ran; clew script -F +who shows it by event");
		return CLI_USAGE;
	}
	return run(&c);
}
