/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/export_code.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "format/profile/autofdo_text.h"
#include "format/profile/bolt_samples.h"
#include "format/profile/bolt_text.h"
#include "format/profile/lcov_text.h"
#include "format/profile/llvm_text.h"
#include "format/profile/profgen_text.h"

/* --- formats --- */

static enum clew_err write_autofdo(struct export_code *x, const struct clew_sink *sink)
{
	const struct autofdo_opts opts = {.base = x->base, .has_indirect = x->run->has_indirect};

	return autofdo_text(x->binary, &opts, sink);
}

static enum clew_err write_profgen(struct export_code *x, const struct clew_sink *sink)
{
	return profgen_text(x->binary, sink);
}

/* The event that samples are of. */
static const char *sampled_event(const struct export_code *x)
{
	vec_for_each (&x->profile.stacks.events, e) {
		if (!e->is_omitted && e->evsel->name)
			return e->evsel->name;
	}
	return "";
}

static enum clew_err write_bolt(struct export_code *x, const struct clew_sink *sink)
{
	if (code_profile_kind(&x->profile) == CODE_OF_SAMPLES)
		return bolt_samples(x->binary, sampled_event(x), sink, &x->nr_nowhere);
	return bolt_text(x->binary, sink);
}

static enum clew_err write_llvm(struct export_code *x, const struct clew_sink *sink)
{
	enum clew_err err =
		inline_profile_make(&x->inlined, x->binary, x->run->in.opts.symbols.budget);

	return err ? err : llvm_text(&x->inlined, sink);
}

static enum clew_err write_lcov(struct export_code *x, const struct clew_sink *sink)
{
	enum clew_err err = CLEW_OK;

	x->lines.account.budget = x->run->in.opts.symbols.budget;
	vec_for_each (&x->profile.code.binaries, b) {
		if (!err && code_profile_has(b, x->run->binary))
			err = line_counts_add(&x->lines, b);
	}
	if (!err)
		err = line_counts_finish(&x->lines);
	return err ? err : lcov_text(&x->lines, sink);
}

/* clang-format off */
static const struct code_format formats[] = {
	{.name = "lcov", .summary = "genhtml, lcov: coverage", .takes_samples = true, .is_of_all = true, .is_exact = true,
	 .write = write_lcov, .report = export_code_report_lines, .put = export_code_put_lines},
	{.name = "llvm", .summary = "clang -fprofile-sample-use, llvm-profdata merge --sample", .takes_samples = true,
	 .write = write_llvm, .report = export_code_report_inlined, .put = export_code_put_inlined},
	{.name = "llvm-profgen", .summary = "llvm-profgen --unsymbolized-profile --use-offset=0", .write = write_profgen,
	 .instead = "llvm-profgen reads branches alone; of plain samples, --to llvm writes what it would make, --to autofdo and --to bolt profiles for other tools"},
	{.name = "autofdo", .summary = "create_llvm_prof --profiler=text", .takes_samples = true,
	 .write = write_autofdo, .report = export_code_report_autofdo, .put = export_code_put_autofdo},
	{.name = "bolt", .summary = "perf2bolt --pa; of plain samples: llvm-bolt -data", .takes_samples = true,
	 .write = write_bolt, .report = export_code_report_bolt, .put = export_code_put_bolt},
};
/* clang-format on */

enum { NR_FORMATS = sizeof(formats) / sizeof(*formats) };

const struct code_format *export_code_at(size_t i)
{
	return i < NR_FORMATS ? &formats[i] : NULL;
}

const struct code_format *export_code_find(const char *name)
{
	for (size_t i = 0; i < NR_FORMATS; i++) {
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	}
	return NULL;
}

/* --- the run --- */

static int choose_binary(struct export_code *x)
{
	const struct counted_binary *b = code_profile_choose(&x->profile, x->run->binary);

	if (!b)
		return code_profile_refuse(&x->profile, x->run->binary);
	x->binary = x->run->code->is_of_all ? NULL : b;
	return CLI_OK;
}

static int check_exact(const struct export_code *x)
{
	const struct export_run *r = x->run;

	if (!r->code->is_exact || r->takes_hits || code_profile_kind(&x->profile) == CODE_OF_TRACE)
		return CLI_OK;
	cli_error("%s: it has no instruction trace, and what was sampled is no coverage",
		  r->in.path);
	cli_hint("--samples: write how often lines were sampled; 'clew record -e soft_pt//u' "
		 "records instruction trace of any x86-64 machine");
	return CLI_FAILED;
}

static int write_and_report(struct export_code *x)
{
	struct export_run *r = x->run;
	int status = export_open_output(r);
	bool is_written;

	if (status != CLI_OK)
		return status;
	status = export_end_output(r, r->code->write(x, export_run_sink(r)), &is_written);
	if (status == CLI_OK && is_written)
		export_code_report(x);
	return status;
}

int export_code(struct export_run *r)
{
	struct export_code x = {
		.run = r,
		.profile = {.in = &r->in,
			    .nr_threads = 1,
			    .no_trace = r->itrace.is_off,
			    .takes_samples = r->code->takes_samples,
			    .instead = r->code->instead,
			    .samples = {r->opts.event, true}}
        };
	int status = code_profile_find_base(r->base_name, &x.base);

	if (status == CLI_OK)
		status = code_profile_read(&x.profile);

	if (status == CLI_OK && x.profile.analysis) {
		r->opts.events = perf_file_evlist(analyze_file(x.profile.analysis));
		status = export_check_event(r);
	}
	if (status == CLI_OK)
		status = check_exact(&x);
	if (status == CLI_OK)
		status = choose_binary(&x);
	cli_pager_start();
	if (status == CLI_OK)
		status = write_and_report(&x);
	cli_pager_done();
	inline_profile_done(&x.inlined);
	line_counts_done(&x.lines);
	code_profile_done(&x.profile);
	return status;
}
