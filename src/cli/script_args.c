/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/script_args.h"

#include <stdio.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/options.h"

static int take_fields(void *to, const char *arg, bool is_negated)
{
	const char *word;
	struct script *s = to;
	enum clew_err err = script_fields_parse(&s->text.fields, arg, &word);
	int len = (int)strcspn(word, ",");

	(void)is_negated;
	s->has_fields = true;
	s->has_columns |= strcmp(arg, "+who") != 0 && strcmp(arg, "who") != 0;
	switch ((int)err) {
	case CLEW_OK:
		return 0;
	case CLEW_UNSUPPORTED:
		cli_error("-F %s: the field '%.*s' is not supported", arg, len, word);
		break;
	case CLEW_INVALID:
		cli_error("-F %s: +field and -field cannot be mixed with a plain list", arg);
		break;
	default:
		cli_error("-F %s: there is no field '%.*s'", arg, len, word);
		cli_hint("'man clew-script' lists the fields");
	}
	return CLI_USAGE;
}

#define SHOW(name, bit)                                             \
 static int show_##name(void *to, const char *arg, bool is_negated) \
 {                                                                  \
  unsigned int *shows = to;                                         \
                                                                    \
  (void)arg;                                                        \
  *shows = is_negated ? *shows & ~(bit) : *shows | (bit);           \
  return 0;                                                         \
 }
SHOW(task, SCRIPT_SHOW_TASK)
SHOW(mmap, SCRIPT_SHOW_MMAP)
SHOW(switch, SCRIPT_SHOW_SWITCH)
SHOW(namespaces, SCRIPT_SHOW_NAMESPACES)
SHOW(lost, SCRIPT_SHOW_LOST)
SHOW(round, SCRIPT_SHOW_ROUND)
SHOW(bpf, SCRIPT_SHOW_BPF)
SHOW(cgroup, SCRIPT_SHOW_CGROUP)
SHOW(text_poke, SCRIPT_SHOW_TEXT_POKE)

/* A form of the output: which events, and which columns change. */
static int take_form(struct script *s, const char *itrace, const char *fields)
{
	int status = cli_itrace_set(&s->itrace, itrace, false);
	bool had_fields = s->has_fields, had_columns = s->has_columns;

	if (!status)
		status = take_fields(s, fields, false);
	s->has_fields = had_fields;
	s->has_columns = had_columns;
	s->has_form = true;
	return status;
}

static int take_call_trace(void *to, const char *arg, bool is_negated)
{
	struct script *s = to;

	(void)arg, (void)is_negated;
	s->text.pads_dso = s->text.is_ns = true;
	return take_form(s, "cewp", "-ip,-addr,-event,-period,+callindent");
}

static int take_call_ret_trace(void *to, const char *arg, bool is_negated)
{
	struct script *s = to;

	(void)arg, (void)is_negated;
	s->text.is_ns = true;
	return take_form(s, "crewp", "-ip,-addr,-event,-period,+callindent,+flags");
}

static int take_around(void *to, const char *arg, bool is_negated)
{
	struct script *s = to;

	(void)is_negated;
	if (script_around_parse(arg, s->around_names, sizeof(s->around_names), &s->around_nr))
		return 0;
	cli_error(
		"--around=%s: a function, or several with commas, and after a colon a number of calls "
		"up to %d",
		arg, SCRIPT_AROUND_MAX);
	return CLI_USAGE;
}

/* Calls are what it shows; the user's own choice of events or columns stays. */
static int choose_around_form(struct script *s)
{
	if (!*s->around_names || s->has_form)
		return 0;
	if (s->has_fields)
		return s->itrace.is_set ? 0 : cli_itrace_set(&s->itrace, "ce", false);
	s->text.pads_dso = s->text.is_ns = true;
	return take_form(s, "ce", "-ip,-addr,-event,-period,+callindent");
}

static int take_insn_trace(void *to, const char *arg, bool is_negated)
{
	struct script *s = to;
	bool is_disasm = arg && !strcmp(arg, "disasm");

	(void)is_negated;
	if (arg && !is_disasm && strcmp(arg, "raw") != 0) {
		cli_error("--insn-trace is 'raw' or 'disasm', not '%s'", arg);
		return CLI_USAGE;
	}
	s->text.is_ns = true;
	return take_form(s, "i0nse", is_disasm ? "-event,-period,+disasm" : "-event,-period,+insn");
}

static int refuse_xed(void *to, const char *arg, bool is_negated)
{
	(void)to, (void)arg, (void)is_negated;
	cli_error("--xed is not supported: no other program is run");
	cli_hint("--insn-trace=disasm shows instructions as assembler text");
	return CLI_USAGE;
}

int script_args_parse(struct script *s, int argc, char **argv)
{
	unsigned int *shows = &s->text.shows;
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "json", NULL, "one JSON object per event, one per line", CLI_FLAG, &s->is_json},
		{'F', "fields", "LIST", "columns: a comma list, +NAME and -NAME to add and remove, "
		 "TYPE:LIST for one of hw, sw, trace, raw, break", CLI_CALL, s, take_fields},
		{'G', "hide-call-graph", NULL, "no call chains", CLI_FLAG, &s->text.no_chains},
		{0, "merge-callchains", NULL, "merge user stacks that were recorded separately "
					      "into the call chains of their samples (default)", CLI_FLAG, &s->is_merging},
		{0, "wait-all", NULL, "in a stream: wait for separate user stacks without limit, instead of for 10 s",
		 CLI_FLAG, &s->waits_all},
		{0, "max-stack", "N", "at most N frames of a call chain", CLI_UINT, &s->max_stack},
		{0, "stop-bt", "NAMES", "call chains end at these functions (comma list)",
		 CLI_STRING, &s->text.stop_bt},
		{0, "inline", NULL, "inlined functions on separate lines",
		 CLI_FLAG, &s->has_inlines},
		{0, "full-source-path", NULL, "show source files with their directories", CLI_FLAG, &s->text.is_full_path},
		{0, "show-kernel-path", NULL, "name the kernel by the file its symbols come from",
		 CLI_FLAG, &s->text.has_kernel_path},
		{0, "ns", NULL, "times in nanoseconds", CLI_FLAG, &s->text.is_ns},
		{0, "reltime", NULL, "times since the first event", CLI_FLAG, &s->text.is_reltime},
		{0, "deltatime", NULL, "times since the previous event", CLI_FLAG, &s->text.is_deltatime},
		{'L', "Latency", NULL, NULL, CLI_FLAG, &s->text.is_latency},
		{0, "max-events", "N", "stop after N events", CLI_UINT, &s->max_events},
		{'S', "symbols", "NAMES", "only samples in these functions (comma list)",
		 CLI_STRING, &s->text.symbols},
		{0, "dsos", "NAMES", "only samples in these binaries (comma list)", CLI_STRING, &s->text.dsos},
		{0, "stats", NULL, "only the outcomes of the samples' user stacks, who ran, and when trace was on", CLI_FLAG, &s->is_stats},
		{0, "Side-band records", NULL, NULL, CLI_SECTION},
		{0, "show-task-events", NULL, "comm, fork and exit", CLI_CALL, shows, show_task, true},
		{0, "show-mmap-events", NULL, "memory mappings", CLI_CALL, shows, show_mmap, true},
		{0, "show-switch-events", NULL, "context switches", CLI_CALL, shows, show_switch, true},
		{0, "show-namespace-events", NULL, "namespaces of processes", CLI_CALL, shows, show_namespaces, true},
		{0, "show-cgroup-events", NULL, "control groups", CLI_CALL, shows, show_cgroup, true},
		{0, "show-lost-events", NULL, "records the kernel could not write", CLI_CALL, shows, show_lost, true},
		{0, "show-bpf-events", NULL, "BPF programs loaded", CLI_CALL, shows, show_bpf, true},
		{0, "show-text-poke-events", NULL, "changes of kernel code", CLI_CALL, shows, show_text_poke, true},
		{0, "show-round-events", NULL, "ends of the recorder's rounds", CLI_CALL, shows, show_round, true},
		CLI_INPUT_OPTIONS(&s->in),
		{0, "header", NULL, "the recording's header first", CLI_FLAG, &s->has_header},
		{0, "header-only", NULL, "only the header", CLI_FLAG, &s->is_header_only},
		{'I', "show-info", NULL, "with --header: topologies in full", CLI_FLAG, &s->is_full_header},
		{'D', "dump-raw-trace", NULL, "every record in file order, in hex", CLI_FLAG,
		 &s->is_dump},
		{0, "Hardware trace", NULL, NULL, CLI_SECTION},
		{0, "itrace", "[OPTS]", "events to make of the trace (default be): i[PERIOD] instructions, b branches, c calls, "
		 "r returns, e errors, g[N] call chains, l[N] last branches, sN; of SPE (default all) also M memory, f m t caches, a remote; --no-itrace: none",
		 CLI_CALL, &s->itrace, cli_itrace_set, true},
		CLI_ITRACE_INDEX_OPTION(&s->itrace),
		{0, "call-trace", NULL, "calls, indented", CLI_CALL, s, take_call_trace},
		{0, "call-ret-trace", NULL, "calls and returns", CLI_CALL, s, take_call_ret_trace},
		{0, "around", "NAMES[:N]", "only each call of these functions (comma list), with the N calls (default 16) before "
		 "and after it of its thread, as --call-trace", CLI_CALL, s, take_around},
		{0, "insn-trace", "[HOW]", "every instruction: its bytes (raw) or assembler text (disasm)",
		 CLI_CALL, s, take_insn_trace},
		{0, "xed", NULL, NULL, CLI_CALL, NULL, refuse_xed},
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "script",
		.usage = "[OPTIONS]",
		.summary = "Print a recording event by event, as perf script does.",
		.options = options,
		.examples = "  clew script | stackcollapse-perf.pl | flamegraph.pl > flame.svg\n"
			    "  clew script -F comm,tid,time,event,ip,sym --ns\n",
	};
	int at = cli_parse(&command, argc, argv);

	if (at < 0)
		return -1 - at;
	if (at < argc) {
		cli_error("script takes no argument '%s'", argv[at]);
		cli_hint("perf script's scripting languages are not supported");
		return CLI_USAGE;
	}
	if (choose_around_form(s))
		return CLI_USAGE;
	if (s->is_json && s->is_stats) {
		cli_error("--stats and --json exclude each other");
		cli_hint("clew report --json has counts by the sort keys evidence and level");
		return CLI_USAGE;
	}
	if (s->is_json && s->has_columns) {
		cli_error(
			"--json and -F exclude each other: JSON has all fields, and who with -F +who");
		return CLI_USAGE;
	}
	if (s->text.is_reltime && s->text.is_deltatime) {
		cli_error("--reltime and --deltatime exclude each other");
		return CLI_USAGE;
	}
	return -1;
}
