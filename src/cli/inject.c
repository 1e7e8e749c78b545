/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/inject_stacks.h"
#include "cli/trace/etm_input.h"
#include "format/profile/autofdo_text.h"
#include "format/profile/bolt_text.h"
#include "os/output.h"
#include "os/path.h"
#include "profile/branch_edges.h"
#include "profile/counted_trace.h"
#include "trace/perf/perf_trace.h"

enum { MAX_LISTED = 8 };

struct inject;

struct profile_format {
	const char *name;
	enum clew_err (*write)(const struct inject *c, const struct counted_binary *b,
			       const struct clew_sink *sink);
};

struct inject {
	struct cli_input in;
	const char *format_name, *out_path, *binary;
	uint64_t nr_threads;
	bool merges_stacks; /* the members below are unused */
	struct autofdo_opts autofdo;
	const struct profile_format *format;
	struct trace_input *trace; /* NULL: branch stacks are counted */
	struct analyze *analysis;  /* of the recording; NULL: a pipe or a snapshot */
	struct counted_code code;
	struct counted_trace_totals totals;
	struct branch_edges_totals stacks;
	struct cli_etm_warnings warnings;
};

static enum clew_err write_autofdo(const struct inject *c, const struct counted_binary *b,
				   const struct clew_sink *sink)
{
	return autofdo_text(b, &c->autofdo, sink);
}

static enum clew_err write_bolt(const struct inject *c, const struct counted_binary *b,
				const struct clew_sink *sink)
{
	(void)c;
	return bolt_text(b, sink);
}

static const struct profile_format formats[] = {
	{"autofdo", write_autofdo},
	{"bolt",    write_bolt   },
};

static const struct profile_format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	}
	return NULL;
}

/* --- which binary --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_counts(const struct counted_binary *b)
{
	return b->counts.runs.nr || b->counts.samples.nr;
}

static bool is_named(const struct counted_binary *b, const char *name)
{
	return !strcmp(b->path, name) || !strcmp(last_part(b->path), name);
}

/** NULL: none. They are in order of weight; code without a mapping is chosen only if there is
 * nothing else. */
static const struct counted_binary *choose(const struct inject *c)
{
	const struct counted_binary *unknown = NULL;

	vec_for_each (&c->code.binaries, b) {
		if (!has_counts(b) || (c->binary && !is_named(b, c->binary)))
			continue;
		if (b->dso || c->binary)
			return b;
		unknown = b;
	}
	return unknown;
}

static int refuse_no_code(const struct inject *c)
{
	cli_error("%s: no executed code is known", c->in.path);
	if (!c->trace)
		cli_hint("%llu of %llu samples have a branch stack",
			 (unsigned long long)c->stacks.nr_stacks,
			 (unsigned long long)c->stacks.nr_samples);
	else if (c->totals.sum.nr_nacc)
		cli_hint("the code at %llu places was not found: --symfs=DIR names the directory "
			 "of the recording's files, -k FILE its kernel",
			 (unsigned long long)c->totals.sum.nr_nacc);
	else if (c->totals.nr_ops)
		cli_hint("of %llu sampled operations %llu are retired branches",
			 (unsigned long long)c->totals.nr_ops,
			 (unsigned long long)c->totals.nr_branches);
	else if (!c->totals.sum.nr_bytes)
		cli_hint("it holds no bytes of trace; 'clew trace -i %s' lists what it holds",
			 c->in.path);
	else
		cli_hint("'clew trace -i %s --ranges' shows what was decoded", c->in.path);
	return CLI_FAILED;
}

static int refuse_binary(const struct inject *c)
{
	clew_auto(buf_done) struct buf list = {0};
	size_t nr = 0;

	vec_for_each (&c->code.binaries, b) {
		if (has_counts(b) && nr++ < MAX_LISTED)
			buf_printf(&list, "%s%s", nr > 1 ? ", " : "", b->path);
	}
	cli_error("%s: no code of a binary '%s' was executed", c->in.path, c->binary);
	cli_hint("most ran in %s%s", buf_cstr(&list), nr > MAX_LISTED ? ", ..." : "");
	return CLI_FAILED;
}

/* --- output --- */

static enum clew_err add_output(void *output, const void *data, size_t size)
{
	return os_output_add(output, data, size) ? CLEW_OS : CLEW_OK;
}

static int write_file(const struct inject *c, const struct counted_binary *b, const char *path)
{
	struct os_output out;
	const struct clew_sink sink = {add_output, &out};
	int os_err = os_output_create(&out, path);
	enum clew_err err = CLEW_OK;

	if (!os_err) {
		err = c->format->write(c, b, &sink);
		os_err = err == CLEW_OK || err == CLEW_OS ? os_output_flush(&out) : 0;
		if (err || os_err)
			os_output_discard(&out, path);
		else
			os_err = os_output_close(&out);
	}
	if (os_err || err == CLEW_OS) {
		cli_error("%s: %s", path, os_err ? strerror(-os_err) : "the output is incomplete");
		return CLI_FAILED;
	}
	return err ? cli_fail(path, &(struct clew_diag){.code = err}) : CLI_OK;
}

static int write_stdout(const struct inject *c, const struct counted_binary *b)
{
	struct clew_diag diag = {0};
	const struct clew_sink sink = cli_stdout_sink(&diag);
	enum clew_err err;

	cli_pager_start();
	err = c->format->write(c, b, &sink);
	cli_pager_done();
	if (!err || err == CLEW_STOPPED)
		return CLI_OK;
	if (!diag.code)
		diag.code = err;
	return cli_fail("standard output", &diag);
}

static void report_binary(const struct counted_binary *b, const char *to)
{
	const char *of = b->dso ? b->path : "run-time addresses, as the binary is unknown";

	cli_note("%s: %s: %zu ranges, %zu branches", to, of, b->counts.runs.nr,
		 b->counts.branches.nr);
	if (b->is_not_found && dso_kind(b->dso) == DSO_KERNEL)
		cli_warn("%s: the kernel's file was not found: addresses are run-time addresses: "
			 "-k FILE names it",
			 b->path);
	else if (b->is_not_found)
		cli_warn("%s: the file was not found: addresses are file offsets, not linked "
			 "addresses",
			 b->path);
	if (b->nr_lost)
		cli_warn("%s: %llu counts have no address in the file", b->path,
			 (unsigned long long)b->nr_lost);
	if (b->counts.nr_dropped)
		cli_warn("%s: %llu counts were skipped: more than %d distinct ones", b->path,
			 (unsigned long long)b->counts.nr_dropped, CODE_MAX_COUNTS);
}

static int write_one(const struct inject *c)
{
	const struct counted_binary *b = choose(c);
	size_t nr_others = 0;
	int status;

	if (!b)
		return c->binary && c->code.binaries.nr ? refuse_binary(c) : refuse_no_code(c);
	status = c->out_path ? write_file(c, b, c->out_path) : write_stdout(c, b);
	if (status != CLI_OK)
		return status;
	report_binary(b, c->out_path ? c->out_path : "standard output");
	vec_for_each (&c->code.binaries, i)
		nr_others += i != b && has_counts(i);
	if (nr_others && !c->binary)
		cli_note("%zu other binaries: --binary=NAME chooses one, -o DIR writes all",
			 nr_others);
	return CLI_OK;
}

/** DIR/NAME.FORMAT; DIR/NAME-2.FORMAT if an earlier binary has that name. */
static void name_file(const struct inject *c, const struct counted_binary *b, struct buf *ret)
{
	const char *name = b->dso ? last_part(b->path) : "unknown";
	size_t nr_before = 0;

	vec_for_each (&c->code.binaries, i) {
		if (i == b)
			break;
		nr_before += has_counts(i) && !strcmp(last_part(i->path), last_part(b->path));
	}
	buf_printf(ret, "%s/%s", c->out_path, name);
	if (nr_before)
		buf_printf(ret, "-%zu", nr_before + 1);
	buf_printf(ret, ".%s", c->format->name);
}

static int write_all(const struct inject *c)
{
	size_t nr = 0;

	vec_for_each (&c->code.binaries, b) {
		clew_auto(buf_done) struct buf path = {0};

		if (!has_counts(b) || (c->binary && !is_named(b, c->binary)))
			continue;
		name_file(c, b, &path);
		if (write_file(c, b, buf_cstr(&path)))
			return CLI_FAILED;
		report_binary(b, buf_cstr(&path));
		nr++;
	}
	if (nr)
		return CLI_OK;
	return c->binary && c->code.binaries.nr ? refuse_binary(c) : refuse_no_code(c);
}

/* --- the run --- */

static enum clew_err note_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct inject *c = ctx;

	return cli_etm_note_warning(&c->warnings, what, number, offset);
}

static void report_gaps(const struct inject *c)
{
	const struct flow_totals *t = &c->totals.sum;

	cli_etm_report_units(c->in.path, c->trace, NULL);
	if (t->nr_nacc)
		cli_note("%s: code was missing %llu time%s; execution there is not counted",
			 c->in.path, (unsigned long long)t->nr_nacc, t->nr_nacc == 1 ? "" : "s");
	cli_etm_report_dropped(c->in.path, t->nr_dropped);
	if (t->nr_no_sync)
		cli_note("%s: the trace was lost or damaged %llu time%s", c->in.path,
			 (unsigned long long)t->nr_no_sync, t->nr_no_sync == 1 ? "" : "s");
}

static void report_warnings(const struct inject *c)
{
	cli_etm_report_warnings(&c->warnings, c->in.path);
	if (c->trace)
		report_gaps(c);
	if (c->stacks.nr_bad_runs)
		cli_note("%s: %llu of %llu branches do not follow from the one before", c->in.path,
			 (unsigned long long)c->stacks.nr_bad_runs,
			 (unsigned long long)c->stacks.nr_branches);
}

static int count_trace(struct inject *c)
{
	const struct counted_trace_opts opts = {
		.nr_threads = c->nr_threads > UINT16_MAX ? 0 : (unsigned int)c->nr_threads,
		.listener = {note_warning, c},
	};
	struct clew_diag diag = {0};
	enum clew_err err = counted_trace(&c->code, c->trace, &opts, &c->totals, &diag);

	if (!err)
		return CLI_OK;
	diag.code = err;
	return cli_fail(c->in.path, &diag);
}

static int refuse_recording(const struct inject *c)
{
	cli_error("%s: it has neither CoreSight trace, SPE records nor branch stacks", c->in.path);
	cli_hint("'perf record -e cs_etm//u' records CoreSight trace, 'clew record -j any,u' "
		 "branch stacks, if the processor supports it");
	return CLI_FAILED;
}

static int refuse_pipe(const struct inject *c, const struct clew_diag *why)
{
	int status = cli_input_fail(&c->in, why);

	cli_hint("branch stacks cannot be read from a pipe: give a file");
	return status;
}

static int count_stacks(struct inject *c)
{
	struct clew_diag diag = {0};

	if (branch_edges(&c->code, c->analysis, &c->stacks, &diag))
		return cli_input_fail(&c->in, &diag);
	if (!c->stacks.nr_stacks)
		return refuse_recording(c);
	if (analyze_summary(c->analysis)->end.code == CLEW_TRUNCATED)
		cli_warn("%s: cut off: everything before was counted", c->in.path);
	return CLI_OK;
}

static bool has_branch_stacks(struct analyze *a)
{
	const struct perf_evlist *l = perf_file_evlist(analyze_file(a));

	vec_for_each (&l->evsels, e) {
		if ((*e)->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	}
	return false;
}

/** A recording without hardware trace. */
static int check_stacks(struct inject *c, const struct clew_diag *why)
{
	if (has_branch_stacks(c->analysis) || perf_file_is_pipe(analyze_file(c->analysis)))
		return CLI_OK;
	/* There is trace, at some offset, but of an unknown form. */
	return why->offset ? cli_input_fail(&c->in, why) : refuse_recording(c);
}

static int open_file(struct inject *c)
{
	const struct perf_trace_wishes any = {0};
	struct clew_diag diag = {0};
	enum clew_err err;

	branch_edges_wish(&c->in.opts);
	if (analyze_open(&c->analysis, &c->in.input, &c->in.opts, &diag))
		return cli_input_fail(&c->in, &diag);
	err = perf_trace_open_in(&c->trace, c->analysis, &any, &diag);
	if (err == CLEW_UNSUPPORTED)
		return check_stacks(c, &diag);
	return err ? cli_input_fail(&c->in, &diag) : CLI_OK;
}

static int open_pipe(struct inject *c)
{
	struct clew_diag diag = {0};
	enum clew_err err = perf_trace_open(&c->trace, &c->in.input, &c->in.opts.symbols, &diag);

	if (err == CLEW_UNSUPPORTED)
		return refuse_pipe(c, &diag);
	return err ? cli_input_fail(&c->in, &diag) : CLI_OK;
}

static int open_input(struct inject *c)
{
	int status;

	c->in.takes_snapshot = true;
	status = cli_input_open(&c->in);
	if (status != CLI_OK)
		return status;
	if (c->in.is_snapshot)
		return cli_etm_open_snapshot(&c->in, &c->trace);
	return c->in.input.data ? open_file(c) : open_pipe(c);
}

static int run(struct inject *c)
{
	int status = open_input(c);

	if (status == CLI_OK) {
		status = c->trace ? count_trace(c) : count_stacks(c);
		if (status == CLI_OK)
			status = c->out_path && os_is_directory(c->out_path) ? write_all(c)
									     : write_one(c);
		report_warnings(c);
	}
	counted_code_done(&c->code);
	trace_input_free(c->trace);
	analyze_free(c->analysis);
	cli_input_done(&c->in);
	vec_done(&c->warnings);
	return status;
}

int cmd_inject(int argc, char **argv)
{
	struct inject c = {.format_name = "autofdo", .nr_threads = 1};
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "format", "FORMAT", "autofdo (default): for create_llvm_prof and create_gcov; "
		 "bolt: for perf2bolt --pa", CLI_STRING, &c.format_name},
		{'o', "output", "FILE", "write there instead of to standard output; a directory: "
					"one file per binary", CLI_STRING, &c.out_path},
		{0, "binary", "NAME", "profile this binary, by path or its last part (default: the one executed most)",
		 CLI_STRING, &c.binary},
		{0, "indirect", NULL, "autofdo: include the targets of indirect branches",
		 CLI_FLAG, &c.autofdo.has_indirect},
		{0, "merge-stacks", NULL, "copy the recording, with deferred user stacks merged "
					  "into their samples, for perf before 6.19 and other "
					  "readers", CLI_FLAG, &c.merges_stacks},
		{0, "threads", "N", "decode with N threads, at most 4 (default: 1; 0: as many as CPUs)",
		 CLI_UINT, &c.nr_threads},
		{0, "Input", NULL, NULL, CLI_SECTION},
		{'i', "input", "FILE", "recording, or directory of an OpenCSD snapshot; - is standard input "
		 "(default: perf.data)", CLI_STRING, &c.in.path},
		{'f', "force", NULL, NULL, CLI_FLAG, &c.in.is_forced},
		{0, "symfs", "DIR", "look for the recording's files below DIR",
		 CLI_STRING, &c.in.opts.symbols.symfs},
		{'k', "vmlinux", "FILE", "the recorded kernel", CLI_STRING, &c.in.opts.symbols.vmlinux},
		{0, "kallsyms", "FILE", "kernel symbols in place of /proc/kallsyms", CLI_STRING, &c.in.opts.symbols.kallsyms},
		CLI_GUEST_OPTIONS(&c.in),
		CLI_MAX_MEMORY_OPTION(&c.in),
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "inject",
		.usage = "[--format=autofdo|bolt] [-i FILE|DIR] [-o FILE|DIR] [--binary=NAME]\n"
			 "--merge-stacks [-i FILE] -o FILE",
		.summary = "Turn hardware trace or branch stacks into a profile for a compiler or "
			   "linker, or merge deferred user stacks into their samples.",
		.options = options,
		.examples = "  clew inject --binary=app -o app.autofdo\n"
			    "  clew inject --format=bolt --binary=app -o app.bolt && "
			    "perf2bolt app --pa -p app.bolt -o app.fdata\n"
			    "  clew inject --merge-stacks -i perf.data -o for-all.data\n",
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	if (first < argc) {
		cli_error("inject takes no argument '%s'", argv[first]);
		cli_hint("name the trace with -i %s", argv[first]);
		return CLI_USAGE;
	}
	if (c.merges_stacks)
		return inject_stacks(&c.in, c.out_path);
	c.format = find_format(c.format_name);
	if (!c.format) {
		cli_error("inject: there is no format '%s'", c.format_name);
		cli_hint("--format=autofdo or --format=bolt");
		return CLI_USAGE;
	}
	return run(&c);
}
