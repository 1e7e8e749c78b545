/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_INPUT_H
#define CLI_COMMON_INPUT_H

#include <clew/session.h>

#include "analyze/analyze.h"
#include "base/budget.h"
#include "cli/common/options.h"
#include "os/file.h"

/*
 * A recording as commands read it: -i FILE, -i - or a pipe on standard input, perf.data where
 * nothing is said; and the options about what to skip and where symbols are. Zeroed struct =
 * the defaults. In a command:
 *
 *	struct cli_input in = {0};
 *	const struct cli_option options[] = {..., CLI_INPUT_OPTIONS(&in), {0}};
 *	...
 *	status = cli_input_open(&in);
 *	if (status == CLI_OK)
 *		analyze_open(&a, &in.input, &in.opts, &diag);
 *	cli_input_done(&in);
 */
struct cli_input {
	const char *path;     /* as given or found; for messages */
	const char *named_by; /* the option that names it, for hints; NULL: -i FILE */
	struct ana_opts opts; /* the options' values; the command adds its own wishes */
	const char *time;     /* --time as given */
	bool takes_snapshot;  /* set by commands that read these, too; others refuse them */
	bool is_stdin;
	bool is_snapshot; /* a directory of CoreSight trace (trace/snapshot/cs_snapshot.h): nothing
			     is mapped */
	bool is_forced;   /* -f: perf maps of other users too; the recording's owner is never asked
			     about */
	unsigned int verbose; /* -v */
	struct os_map map;    /* the file, where it could be mapped */
	struct perf_input input;
	struct budget budget; /* --max-memory; opts.symbols.budget after cli_input_budget() */
	const char *dir_path; /* what path was, of a recording that is a directory */
	char *buildid_dir, *unwind_cache, *kcore_dir, *data_path; /* owned texts */
};

/* clang-format off */
#define CLI_MAX_MEMORY_OPTION(in)                                                                   \
	{0, "max-memory", "SIZE", "limit the memory for data unpacked or kept from the input, such as " \
	 "2G (default: a quarter of this machine's)", CLI_CALL, &(in)->budget, cli_input_set_max_memory}

#define CLI_GUEST_OPTIONS(in)                                                                       \
	{0, "guestmount", "DIR", "roots of virtual machines: DIR/PID is that of the one that process PID runs", \
	 CLI_STRING, &(in)->opts.symbols.guest_mount},                                              \
	{0, "guestkallsyms", "FILE", "symbols of virtual machines' kernels: a copy of their /proc/kallsyms",     \
	 CLI_STRING, &(in)->opts.symbols.guest_kallsyms},                                           \
	{0, "guestmodules", "FILE", "their modules: a copy of their /proc/modules",                 \
	 CLI_STRING, &(in)->opts.symbols.guest_modules},                                            \
	{0, "guestvmlinux", "FILE", "their kernel image with symbols",                              \
	 CLI_STRING, &(in)->opts.symbols.guest_vmlinux}

/* What a command with several recordings takes of all of them: all but -i and -f. */
#define CLI_INPUT_COMMON_OPTIONS(in)                                                                \
	{'v', "verbose", NULL, "also print which symbol files were used", CLI_COUNT, &(in)->verbose},          \
	{0, "Filters", NULL, NULL, CLI_SECTION},                                                    \
	{'c', "comms", "NAMES", "only threads of these names (comma list)",                         \
	 CLI_STRING, &(in)->opts.filter.comms},                                                     \
	{0, "comm", "NAME", NULL, CLI_STRING, &(in)->opts.filter.comms},                            \
	{0, "pid", "PIDS", "only these processes (comma list)",                                     \
	 CLI_STRING, &(in)->opts.filter.pids},                                                      \
	{0, "tid", "TIDS", "only these threads (comma list)",                                       \
	 CLI_STRING, &(in)->opts.filter.tids},                                                      \
	{'C', "cpu", "CPUS", "only these CPUs, such as 0-2,5", CLI_STRING, &(in)->opts.filter.cpus}, \
	{0, "time", "FROM,TO", "only this range of time, in seconds of the recording's clock "    \
	 "(either end may be omitted), or in percent: 10%-20%, 10%/2",                             \
	 CLI_STRING, &(in)->time},                                                                  \
	{0, "Limits", NULL, NULL, CLI_SECTION},                                                     \
	CLI_MAX_MEMORY_OPTION(in),                                                                  \
	{0, "Symbols", NULL, NULL, CLI_SECTION},                                                    \
	{0, "symfs", "DIR", "look for the recording's files below DIR",                             \
	 CLI_STRING, &(in)->opts.symbols.symfs},                                                    \
	{'k', "vmlinux", "FILE", "kernel image with symbols",                                       \
	 CLI_STRING, &(in)->opts.symbols.vmlinux},                                                  \
	{0, "kallsyms", "FILE", "kernel symbols in place of /proc/kallsyms",                        \
	 CLI_STRING, &(in)->opts.symbols.kallsyms},                                                 \
	CLI_GUEST_OPTIONS(in),                                                                      \
	{0, "demangle", NULL, "C++ and Rust names as in the source (--no-demangle: as linked)",     \
	 CLI_CALL, &(in)->opts.symbols.no_demangle, cli_input_set_demangle, true},                  \
	{0, "demangle-kernel", NULL, "the same for kernel names",                                   \
	 CLI_FLAG, &(in)->opts.symbols.demangle_kernel}

#define CLI_INPUT_OPTIONS(in)                                                                       \
	{0, "Input", NULL, NULL, CLI_SECTION},                                                      \
	{'i', "input", "FILE", "recording to read; - is standard input (default: perf.data)",       \
	 CLI_STRING, &(in)->path},                                                                  \
	{'f', "force", NULL, NULL, CLI_FLAG, &(in)->is_forced},                                     \
	CLI_INPUT_COMMON_OPTIONS(in)
/* clang-format on */

/** For the rows above. */
int cli_input_set_demangle(void *no_demangle, const char *arg, bool is_negated);
int cli_input_set_max_memory(void *budget, const char *arg, bool is_negated);

/** The input's budget with its limit set; for what is not opened by cli_input_open(). */
struct budget *cli_input_budget(struct cli_input *in);

/**
 * Find and open the recording, and complete in->opts: the time range, the build-id directory of
 * this user. Until cli_input_done() a progress line is shown (cli/common/progress.h). Reports
 * failures itself. @return CLI_OK, CLI_FAILED or CLI_USAGE.
 */
int cli_input_open(struct cli_input *in);

/** The parts of that, for what is opened by the public API: the path, */
void cli_input_find(struct cli_input *in);
/** the build-id directory: @return CLI_OK, CLI_FAILED; */
int cli_input_set_build_ids(struct cli_input *in);
/** why it could not be opened: @return CLI_FAILED; */
int cli_input_fail_open(const struct cli_input *in, const struct clew_diag *diag);
/** and what the memory budget excluded. */
void cli_input_warn_left_out(const struct cli_input *in, const struct clew_left_out *l);

/** Reject an option that a snapshot has no data for. @return CLI_USAGE. */
int cli_input_refuse_snapshot(const struct cli_input *in);
/** Also reports what the memory budget excluded. */
void cli_input_done(struct cli_input *in);

/**
 * The sentence for a failed analysis of in->path, with a hint where there is one.
 * @return CLI_FAILED.
 */
int cli_input_fail(const struct cli_input *in, const struct clew_diag *diag);

/** When the recording was written, in the form of ctime() and perf, in any locale. @return @p text;
 * NULL: it is not a file. */
const char *cli_input_date(const struct cli_input *in, char *text, size_t size);

/** A warning if the recording ends inside a record: @p end has CLEW_TRUNCATED. */
void cli_input_warn_cut(const struct cli_input *in, const struct clew_diag *end);

/** The same after the analysis. */
void cli_input_warn_end(const struct cli_input *in, const struct ana_summary *s);

/** The same: warnings about what the recording lacks. */
void cli_input_warn(const struct cli_input *in, const struct ana_summary *s);

/**
 * Parse --time: "FROM,TO" in seconds, "A%-B%", or "A%/N" (the N-th part, from 1, of A percent
 * each). @p first, @p last: the recording's times, all ones: unknown. @return NULL, or the reason
 * as static text.
 */
const char *cli_parse_time(const char *text, uint64_t first, uint64_t last, uint64_t *ret_from,
			   uint64_t *ret_to);

#endif
