/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/record_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/options.h"
#include "cli/event_args.h"
#include "os/child.h"
#include "record/plan/aux_parse.h"
#include "record/plan/rec_parse.h"

#define PARSED(name, parse) static EVENT_ARG(name, parse)

PARSED(set_branches, rec_parse_branches)
PARSED(set_switch, rec_parse_switch)
PARSED(set_clock, rec_parse_clock)
PARSED(set_delay, rec_parse_delay)
PARSED(set_drain, rec_parse_drain)
PARSED(set_snapshot, rec_parse_snapshot)
PARSED(set_aux_sample, rec_parse_aux_sample)

static int set_regs(const char *option, const char *arg, uint64_t *ret, bool *ret_has)
{
	struct rec_error error;
	char names[256];

	if (arg && !strcmp(arg, "?")) {
		rec_reg_names(names, sizeof(names));
		printf("%s\n", names);
		exit(CLI_OK);
	}
	*ret_has = true;
	return rec_parse_regs(option, arg, ret, &error) == CLEW_OK ? CLI_OK
								   : event_args_refuse(&error);
}

static int set_user_regs(void *to, const char *arg, bool is_negated)
{
	struct rec_options *o = to;

	(void)is_negated;
	return set_regs("--user-regs", arg, &o->user_regs, &o->has_user_regs);
}

static int set_intr_regs(void *to, const char *arg, bool is_negated)
{
	struct rec_options *o = to;

	(void)is_negated;
	return set_regs("-I", arg, &o->intr_regs, &o->has_intr_regs);
}

static int set_branch_any(void *to, const char *arg, bool is_negated)
{
	struct rec_options *o = to;

	(void)arg;
	(void)is_negated;
	o->branch_filter |= PERF_SAMPLE_BRANCH_ANY;
	return CLI_OK;
}

static int set_compression(void *to, const char *arg, bool is_negated)
{
	struct rec_options *o = to;
	uint64_t level = 1;

	if (is_negated) {
		o->zstd_level = 0;
		return CLI_OK;
	}
	if (arg && (!cli_parse_uint(arg, &level) || level > 22)) {
		cli_error("-z %s: expected a level from 1 (fastest) to 22 (smallest); 0 is none",
			  arg);
		return CLI_USAGE;
	}
	o->zstd_level = (int)level;
	return CLI_OK;
}

static bool set_size(const char *option, const char *text, uint64_t *ret)
{
	if (!text || rec_parse_size(text, ret) || cli_parse_size(text, ret))
		return true;
	cli_error("%s %s: expected a size such as 500M", option, text);
	return false;
}

/* Options that act on the events of all -e. */
static int settle_trace(struct record_args *r)
{
	const struct rec_options *o = &r->o;
	struct rec_error error = {0};
	enum clew_err err = CLEW_OK;
	char path[4096];
	const char *program = NULL;

	if (o->argv && !os_child_find(o->argv[0], o->search_path, path, sizeof(path)))
		program = path;
	r->o.snapshot.is_on |= o->snapshot.max || r->trigger;
	if (o->max_calls && !o->trace_function) {
		cli_error("--max-calls needs --trace-function");
		return CLI_USAGE;
	}
	if (o->trace_function)
		err = rec_events_function(&r->events, program, o->trace_function, &error);
	if (err == CLEW_OK && r->between)
		err = rec_events_between(&r->events, program, r->between, &error);
	if (err == CLEW_OK && r->trigger)
		err = rec_events_trigger(&r->events, program, r->trigger, &error);
	if (err == CLEW_OK && o->aux_sample_bytes)
		err = rec_events_sample_aux(&r->events, o->aux_sample_bytes, &error);
	if (err == CLEW_OK)
		err = rec_check_snapshot(o, &r->events, &error);
	return err == CLEW_OK ? CLI_OK : event_args_refuse(&error);
}

static int settle(struct record_args *r)
{
	uint64_t v = 0;

	if (!event_args_period(&r->o, r->count))
		return CLI_USAGE;
	if (!set_size("--max-size", r->max_size, &r->o.max_bytes))
		return CLI_USAGE;
	if (r->max_files && (!cli_parse_uint(r->max_files, &v) || !v || v > UINT32_MAX)) {
		cli_error("--switch-max-files %s: expected the number of files to keep",
			  r->max_files);
		return CLI_USAGE;
	}
	r->o.switch_output.max_files = (uint32_t)v;
	if (v && !r->o.switch_output.is_on) {
		cli_error("--switch-max-files needs --switch-output");
		return CLI_USAGE;
	}
	v = 0;
	if (r->priority && (!cli_parse_uint(r->priority, &v) || !v || v > 99)) {
		cli_error("-r %s: expected a SCHED_FIFO priority from 1 to 99", r->priority);
		return CLI_USAGE;
	}
	r->o.realtime = (int)v;
	r->o.is_verbose = r->verbose;
	if (r->o.is_store_stacks && r->o.stacks.kind != REC_STACKS_COPY &&
	    r->o.stacks.kind != REC_STACKS_NONE) {
		cli_error("--store-stacks needs --call-graph dwarf: other call chains copy no "
			  "stacks");
		return CLI_USAGE;
	}
	event_args_environment(&r->o, &r->cache_dir);
	return settle_trace(r);
}

static int check_output(const struct record_args *r)
{
	if (r->o.output && !strcmp(r->o.output, "-") && isatty(STDOUT_FILENO)) {
		cli_error("will not write perf.data to a terminal; send it to a file or a program");
		return CLI_USAGE;
	}
	if (r->o.switch_output.is_on && r->o.output && !strcmp(r->o.output, "-")) {
		cli_error("--switch-output needs files: it excludes -o -");
		return CLI_USAGE;
	}
	return CLI_OK;
}

/* @return the first argument; as cli_parse(). */
static int parse(struct record_args *r, int argc, char **argv)
{
	struct rec_options *o = &r->o;
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Events", NULL, NULL, CLI_SECTION},
		{'e', "event", "EVENT", "event, list or {group} of events; see 'clew list' (default: cycles, or cpu-clock without counters)", CLI_CALL, &r->events, event_args_add},
		{0, "filter", "TEXT", "condition on the fields, or addresses, of the events of the last -e", CLI_CALL, &r->events, event_args_filter},
		{'F', "freq", "HZ", "samples per second and CPU, or max (default: 4000)", CLI_CALL, o, event_args_freq},
		{'c', "count", "N", "one sample every N events", CLI_STRING, &r->count},
		{0, "strict-freq", NULL, "fail if -F is above the kernel's limit", CLI_FLAG, &o->is_freq_strict},
		{0, "all-user", NULL, "count all events in user space only", CLI_FLAG, &o->is_all_user},
		{0, "all-kernel", NULL, "count all events in the kernel only", CLI_FLAG, &o->is_all_kernel},
		{0, "exclude-perf", NULL, "exclude tracepoints that clew itself hits", CLI_FLAG, &o->is_exclude_self},

		EVENT_TARGET_OPTIONS(o, "running threads (comma list), without their children"),
		{'i', "no-inherit", NULL, "do not record children", CLI_CALL, &o->inherit, event_args_no_inherit},
		{0, "inherit", NULL, "record children, also with -t", CLI_CALL, &o->inherit, event_args_tristate},
		{0, "per-thread", NULL, "one buffer per thread instead of one per CPU; implies -i", CLI_FLAG, &o->is_per_thread},

		{0, "Call graphs and sample data", NULL, NULL, CLI_SECTION},
		{'g', NULL, NULL, "call chains, by the best method that works here (--call-graph auto)", CLI_CALL, o, event_args_callgraph_auto},
		{0, "call-graph", "KIND", "call chains: auto, sframe[,immediate], defer, dwarf[,BYTES of stack], fp[,DEPTH], lbr, no; with ,deferred at the end, user stacks are not merged into their samples", CLI_CALL, o, event_args_callgraph},
		{0, "store-stacks", NULL, "with --call-graph dwarf: keep the copied stacks in the file, as perf does, and do not unwind them", CLI_FLAG, &o->is_store_stacks},
		{0, "user-callchains", NULL, "only the user's part of call chains", CLI_FLAG, &o->no_kernel_chain},
		{0, "kernel-callchains", NULL, "only the kernel's part of call chains", CLI_FLAG, &o->no_user_chain},
		{'b', "branch-any", NULL, "the last branches taken, of any kind", CLI_CALL, o, set_branch_any},
		{'j', "branch-filter", "KINDS", "the last branches taken: any,any_call,any_ret,ind_call,call,cond,u,k,...", CLI_CALL, o, set_branches},
		{'d', "data", NULL, "data addresses", CLI_FLAG, &o->with_addr},
		{0, "phys-data", NULL, "physical data addresses", CLI_FLAG, &o->with_phys_addr},
		{0, "data-page-size", NULL, "page size at the data address", CLI_FLAG, &o->with_data_page_size},
		{0, "code-page-size", NULL, "page size at the instruction", CLI_FLAG, &o->with_code_page_size},
		{'W', "weight", NULL, "the cost of the sampled access, if the CPU reports it", CLI_FLAG, &o->with_weight},
		{0, "transaction", NULL, "transactional memory flags", CLI_FLAG, &o->with_transaction},
		{'I', "intr-regs", "[REGS]", "registers at the sample; =? lists them", CLI_CALL, o, set_intr_regs},
		{0, "user-regs", "[REGS]", "registers of user space; =? lists them", CLI_CALL, o, set_user_regs},
		{'R', "raw-samples", NULL, "raw event data (tracepoints always have it)", CLI_FLAG, &o->with_raw},
		{'T', "timestamp", NULL, "times (default; --no-timestamp omits them)", CLI_CALL, &o->with_time, event_args_tristate, true},
		{'P', "period", NULL, "periods (default with -F; --no-period omits them)", CLI_CALL, &o->with_period, event_args_tristate, true},
		{0, "sample-cpu", NULL, "the CPU, also when tasks are recorded", CLI_FLAG, &o->with_cpu},
		{0, "sample-identifier", NULL, "the event's id, also with one event", CLI_FLAG, &o->with_identifier},
		{'n', "no-samples", NULL, "count, do not sample", CLI_FLAG, &o->is_no_samples},
		{'s', "stat", NULL, "counts of each thread when it ends", CLI_FLAG, &o->with_stat},
		{0, "running-time", NULL, "with :S events, the time they were counting", CLI_FLAG, &o->with_running_time},
		{'k', "clockid", "CLOCK", "clock of the timestamps: monotonic, monotonic_raw, realtime, boottime, tai", CLI_CALL, o, set_clock},

		{0, "Side-band records", NULL, NULL, CLI_SECTION},
		{0, "switch-events", NULL, "each context switch (default with a hardware trace, and for all CPUs in a container)", CLI_CALL, &o->with_switches, event_args_tristate, true},
		{0, "namespaces", NULL, "namespaces of each task", CLI_FLAG, &o->with_namespaces},
		{0, "all-cgroups", NULL, "cgroups, and the cgroup of each sample", CLI_FLAG, &o->with_cgroups},
		{0, "no-bpf-event", NULL, "do not record loads of BPF programs", CLI_FLAG, &o->no_bpf_events},
		{'B', "no-buildid", NULL, "do not record build ids", CLI_FLAG, &o->no_build_ids},
		{'N', "no-buildid-cache", NULL, "accepted: no cache is ever filled", CLI_FLAG, &r->no_cache},

		{0, "Hardware trace", NULL, NULL, CLI_SECTION},
		{'S', "snapshot", "[e][SIZE]", "keep only the newest trace, and write it at USR2, or 'snapshot' on --control; e: at the end, too; SIZE: the bytes of each buffer", CLI_CALL, o, set_snapshot},
		{0, "snapshots", "N", "stop after N snapshots; implies -S", CLI_UINT, &o->snapshot.max},
		{0, "trigger", "WHEN", "take a snapshot whenever a function of the command, or an event, occurs; implies -S", CLI_STRING, &r->trigger},
		{0, "trace-between", "START,STOP", "trace only from START to STOP: functions of the command, or events", CLI_STRING, &r->between},
		{0, "trace-function", "SYMBOL[@LIB]", "trace the calls of one function, by stepping the program (soft_pt): on any x86-64 machine", CLI_STRING, &o->trace_function},
		{0, "max-calls", "N", "with --trace-function: stop tracing after N calls; the program continues at full speed", CLI_UINT, &o->max_calls},
		{0, "aux-sample", "[SIZE]", "put the newest SIZE bytes of trace (default: 4096) into each sample of the events after it", CLI_CALL, o, set_aux_sample},

		{0, "Output and control", NULL, NULL, CLI_SECTION},
		{'o', "output", "FILE", "file to write, - for standard output (default: perf.data)", CLI_STRING, &o->output},
		{'D', "delay", "MS", "enable events after MS milliseconds; -1: when --control receives enable", CLI_CALL, o, set_delay},
		{0, "drain", "MS", "at the end, wait up to MS milliseconds for user stacks of tasks in the kernel (default: 200)", CLI_CALL, o, set_drain},
		{0, "control", "SPEC", "take commands from fd:N[,ACK] or fifo:PATH[,ACK]: enable, disable, snapshot, stop, ping, evlist", CLI_STRING, &o->control},
		{0, "switch-output", "[WHEN]", "start a new file on signal (USR2), or by size (100M) or time (30s)", CLI_CALL, o, set_switch},
		{0, "switch-max-files", "N", "keep the last N files of --switch-output", CLI_STRING, &r->max_files},
		{0, "max-size", "SIZE", "stop when SIZE is written", CLI_STRING, &r->max_size},
		{0, "timestamp-filename", NULL, "add the time to the file's name", CLI_FLAG, &o->is_stamped},
		{'z', "compression-level", "[LEVEL]", "compress with zstd, 1 (default) to 22", CLI_CALL, o, set_compression, true},
		{0, "overwrite", NULL, "keep only the newest records of each buffer, written at the end or at a switch", CLI_FLAG, &o->is_overwrite},
		{0, "tail-synthesize", NULL, "describe running tasks at the end of the file", CLI_FLAG, &o->is_tail_synthesize},

		{0, "Other options", NULL, NULL, CLI_SECTION},
		{'m', "mmap-pages", "DATA[,AUX]", "buffer per CPU, in pages or as a size such as 4M", CLI_CALL, o, event_args_pages},
		{0, "no-buffering", NULL, "wake up for each sample", CLI_FLAG, &o->is_unbuffered},
		{'r', "realtime", "PRIORITY", "collect with this SCHED_FIFO priority", CLI_STRING, &r->priority},
		{0, "dry-run", NULL, "check the options and exit", CLI_FLAG, &r->is_dry_run},
		{0, "json", NULL, "print the summary as one JSON object, on standard error", CLI_FLAG, &r->is_json},
		{'q', "quiet", NULL, "print errors only", CLI_FLAG, &r->is_quiet},
		{'v', "verbose", NULL, "say more", CLI_COUNT, &r->verbose},

		{0, "buildid-all", NULL, NULL, CLI_FLAG, &r->is_always_so},
		{0, "buildid-mmap", NULL, NULL, CLI_FLAG, &r->is_always_so},
		{0, "timestamp-boundary", NULL, NULL, CLI_FLAG, &r->is_always_so},
		ONLY_IN_PERF(0, "kcore", NULL, "--kcore is not supported: it needs the directory form of perf.data; the kernel's vmlinux is found by build id later"),
		ONLY_IN_PERF(0, "threads", "[SPEC]", "--threads is not supported: it writes the directory form of perf.data; one reader suffices here"),
		ONLY_IN_PERF(0, "off-cpu", NULL, "--off-cpu is not supported; -e sched:sched_switch -g shows where tasks leave the CPU"),
		ONLY_IN_PERF(0, "aio", "[N]", "--aio is not supported: writes go straight from the buffer and are rare"),
		ONLY_IN_PERF(0, "affinity", "HOW", "--affinity is not supported; taskset or numactl place the recorder"),
		ONLY_IN_PERF(0, "switch-output-event", "EVENT", "--switch-output-event is not supported; send USR2, or 'snapshot' to --control"),
		ONLY_IN_PERF(0, "max-events", "N", "--max-events is not supported; --max-size and --control limit a recording"),
		ONLY_IN_PERF(0, "group", NULL, "--group is not supported: write the group as -e '{a,b}'"),
		ONLY_IN_PERF(0, "clang-path", "PATH", "BPF sources as events are not supported"),
		ONLY_IN_PERF(0, "clang-opt", "OPTS", "BPF sources as events are not supported"),
		ONLY_IN_PERF(0, "vmlinux", "FILE", "--vmlinux is not needed to record: give it to 'clew report'"),
		ONLY_IN_PERF(0, "debuginfod", "[URLS]", "--debuginfod is not supported while recording"),
		ONLY_IN_PERF(0, "latency", NULL, "--latency is not supported"),
		ONLY_IN_PERF(0, "mmap-flush", "BYTES", "--mmap-flush is not supported: -m sets the buffer, half of which is gathered"),
		ONLY_IN_PERF(0, "num-thread-synthesize", "N", "--num-thread-synthesize is not supported: one thread reads /proc"),
		ONLY_IN_PERF(0, "proc-map-timeout", "MS", "--proc-map-timeout is not supported: maps are read whole"),
		ONLY_IN_PERF(0, "synth", "WHAT", "--synth is not supported: running tasks and their maps are always recorded"),
		{0}};
	/* clang-format on */
	const struct cli_command command = {
		.name = "record",
		.usage = "[OPTIONS] -- COMMAND [ARGS]\n[OPTIONS] -p PID | -t TID | -u USER | -a",
		.summary = "Record a command or running tasks into perf.data.",
		.options = options,
		.stops_at_word = true,
		.examples =
			"  clew record -g -- ./program          where a program spends its time\n"
			"  clew record -F 999 -a -g -- sleep 10 the whole machine for ten seconds\n"
			"  clew record -p 1234 -- sleep 5       a running process for five seconds\n"
			"  clew record -e sched:sched_switch --filter 'prev_pid > 0' -a -- sleep 1\n"
			"\nWith a hardware trace (intel_pt, cs_etm, arm_spe; 'clew doctor' says what there is):\n"
			"  clew record -e intel_pt//u -- ./program          all of it\n"
			"  clew record -e intel_pt//u -Se -- ./program      the newest, at USR2 and at the end\n"
			"  clew record -e intel_pt//u --trace-between f,g --per-thread -- ./program\n"
			"                                                   from each call of f to one of g\n"
			"  clew record -e intel_pt// -e sched:sched_switch --aux-sample -a -- sleep 1\n"
			"                                                   what ran before each switch\n",
	};

	return cli_parse(&command, argc, argv);
}

int record_args_parse(struct record_args *r, int argc, char **argv)
{
	struct rec_options *o = &r->o;
	int first = parse(r, argc, argv), status;

	if (first < 0)
		return -1 - first;
	if (r->is_quiet)
		cli_set_quiet();
	if (first < argc)
		o->argv = argv + first;
	o->command_line = (const char *const *)argv;
	o->nr_command_line = (size_t)argc;
	status = settle(r);
	if (status == CLI_OK)
		status = check_output(r);
	return status == CLI_OK ? -1 : status;
}

void record_args_done(struct record_args *r)
{
	rec_events_done(&r->events);
	buf_done(&r->cache_dir);
}
