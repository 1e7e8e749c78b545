/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path_name.h"
#include "cli/code_profile.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/inject_stacks.h"
#include "cli/note_unchecked.h"
#include "format/profile/autofdo_text.h"
#include "format/profile/bolt_text.h"
#include "os/output.h"
#include "os/path.h"

struct inject;

struct profile_format {
	const char *name;
	bool has_base; /* --autofdo-base */
	enum clew_err (*write)(const struct inject *c, const struct counted_binary *b,
			       const struct clew_sink *sink);
};

struct inject {
	struct cli_input in;
	const char *format_name, *out_path, *binary, *base_name;
	uint64_t nr_threads;
	bool merges_stacks; /* the members below are unused */
	struct autofdo_opts autofdo;
	const struct profile_format *format;
	struct code_profile profile;
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
	{"autofdo", true,  write_autofdo},
	{"bolt",    false, write_bolt   },
};

static const struct profile_format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	}
	return NULL;
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

static void report_binary(const struct inject *c, const struct counted_binary *b, const char *to)
{
	code_profile_report_binary(b, to);
	if (c->format->has_base)
		code_profile_report_base(b, c->autofdo.base);
}

static int write_one(const struct inject *c)
{
	const struct counted_binary *b = code_profile_choose(&c->profile, c->binary);
	const char *to = c->out_path ? c->out_path : "standard output";
	size_t nr_others = 0;
	int status;

	if (!b)
		return code_profile_refuse(&c->profile, c->binary);
	status = c->out_path ? write_file(c, b, c->out_path) : write_stdout(c, b);
	if (status != CLI_OK)
		return status;
	report_binary(c, b, to);
	vec_for_each (&c->profile.code.binaries, i)
		nr_others += i != b && code_profile_has(i, NULL);
	if (nr_others && !c->binary)
		cli_note("%zu other binaries: --binary=NAME chooses one, -o DIR writes all",
			 nr_others);
	return CLI_OK;
}

/** DIR/NAME.FORMAT; DIR/NAME-2.FORMAT if an earlier binary has that name. */
static void name_file(const struct inject *c, const struct counted_binary *b, struct buf *ret)
{
	const char *name = b->dso ? path_name(b->path) : "unknown";
	size_t nr_before = 0;

	vec_for_each (&c->profile.code.binaries, i) {
		if (i == b)
			break;
		nr_before += code_profile_has(i, path_name(b->path));
	}
	buf_printf(ret, "%s/%s", c->out_path, name);
	if (nr_before)
		buf_printf(ret, "-%zu", nr_before + 1);
	buf_printf(ret, ".%s", c->format->name);
}

static int write_all(const struct inject *c)
{
	size_t nr = 0;

	vec_for_each (&c->profile.code.binaries, b) {
		clew_auto(buf_done) struct buf path = {0};

		if (!code_profile_has(b, c->binary))
			continue;
		name_file(c, b, &path);
		if (write_file(c, b, buf_cstr(&path)))
			return CLI_FAILED;
		report_binary(c, b, buf_cstr(&path));
		nr++;
	}
	return nr ? CLI_OK : code_profile_refuse(&c->profile, c->binary);
}

static int run(struct inject *c)
{
	int status;

	c->in.takes_snapshot = true;
	c->profile.in = &c->in;
	c->profile.nr_threads = c->nr_threads > UINT16_MAX ? 0 : (unsigned int)c->nr_threads;
	status = cli_input_open(&c->in);
	if (status == CLI_OK)
		status = code_profile_read(&c->profile);
	if (status == CLI_OK)
		status = c->out_path && os_is_directory(c->out_path) ? write_all(c) : write_one(c);
	if (c->profile.trace || c->profile.analysis)
		code_profile_report(&c->profile);
	if (c->profile.analysis && !c->profile.trace)
		cli_note_unchecked(analyze_summary(c->profile.analysis));
	code_profile_done(&c->profile);
	cli_input_done(&c->in);
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
		CODE_PROFILE_BASE_OPTION(&c.base_name),
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
	if (c.base_name && !c.format->has_base) {
		cli_error("--autofdo-base is not for --format=%s", c.format_name);
		return CLI_USAGE;
	}
	if (code_profile_find_base(c.base_name, &c.autofdo.base) != CLI_OK)
		return CLI_USAGE;
	return run(&c);
}
