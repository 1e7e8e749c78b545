/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/code_profile.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path_name.h"
#include "cli/common/message.h"
#include "cli/stack_notes.h"
#include "trace/perf/perf_trace.h"

enum { MAX_LISTED = 8 };

/* --- which binary --- */

static bool is_named(const struct counted_binary *b, const char *name)
{
	return !name || !strcmp(b->path, name) || !strcmp(path_name(b->path), name);
}

bool code_profile_has(const struct counted_binary *b, const char *name)
{
	return (b->counts.runs.nr || b->counts.samples.nr || b->nr_left) && is_named(b, name);
}

const struct counted_binary *code_profile_choose(const struct code_profile *p, const char *name)
{
	const struct counted_binary *unknown = NULL;

	vec_for_each (&p->code.binaries, b) {
		if (!code_profile_has(b, name))
			continue;
		if (b->dso || name)
			return b;
		unknown = b;
	}
	return unknown;
}

static int refuse_no_code(const struct code_profile *p)
{
	cli_error("%s: no executed code is known", p->in->path);
	if (!p->trace)
		cli_hint("%llu of %llu samples have a branch stack",
			 (unsigned long long)p->stacks.nr_stacks,
			 (unsigned long long)p->stacks.nr_samples);
	else if (p->totals.sum.nr_nacc)
		cli_hint("the code at %llu places was not found: --symfs=DIR names the directory "
			 "of the recording's files, -k FILE its kernel",
			 (unsigned long long)p->totals.sum.nr_nacc);
	else if (p->totals.nr_ops)
		cli_hint("of %llu sampled operations %llu are retired branches",
			 (unsigned long long)p->totals.nr_ops,
			 (unsigned long long)p->totals.nr_branches);
	else if (!p->totals.sum.nr_bytes)
		cli_hint("it holds no bytes of trace; 'clew trace -i %s' lists what it holds",
			 p->in->path);
	else
		cli_hint("'clew trace -i %s --ranges' shows what was decoded", p->in->path);
	return CLI_FAILED;
}

static int refuse_binary(const struct code_profile *p, const char *name)
{
	clew_auto(buf_done) struct buf list = {0};
	size_t nr = 0;

	vec_for_each (&p->code.binaries, b) {
		if (code_profile_has(b, NULL) && nr++ < MAX_LISTED)
			buf_printf(&list, "%s%s", nr > 1 ? ", " : "", b->path);
	}
	cli_error("%s: no code of a binary '%s' was executed", p->in->path, name);
	cli_hint("most ran in %s%s", buf_cstr(&list), nr > MAX_LISTED ? ", ..." : "");
	return CLI_FAILED;
}

int code_profile_refuse(const struct code_profile *p, const char *name)
{
	return name && p->code.binaries.nr ? refuse_binary(p, name) : refuse_no_code(p);
}

/* There may be a file of that name, which is not the recorded one. */
static const char *why_not_found(const struct dso *d)
{
	const char *why = dso_why_no_symbols(d);

	return why ? why : "the file was not found";
}

void code_profile_report_binary(const struct counted_binary *b, const char *to)
{
	const char *of = b->dso ? b->path : "run-time addresses, as the binary is unknown";

	if (b->counts.runs.nr)
		cli_note("%s: %s: %zu ranges, %zu branches", to, of, b->counts.runs.nr,
			 b->counts.branches.nr);
	else if (b->nr_left)
		cli_note("%s: %s: no ranges, %zu branches, %zu sampled addresses", to, of,
			 b->counts.branches.nr, b->counts.samples.nr);
	else
		cli_note("%s: %s: %zu sampled addresses", to, of, b->counts.samples.nr);
	if (b->is_not_found && dso_kind(b->dso) == DSO_KERNEL)
		cli_warn("%s: the kernel's file was not found: addresses are run-time addresses: "
			 "-k FILE names it",
			 b->path);
	else if (b->is_not_found)
		cli_warn("%s: %s: addresses are file offsets, not linked addresses", b->path,
			 why_not_found(b->dso));
	if (b->nr_lost)
		cli_warn("%s: %llu counts have no address in the file", b->path,
			 (unsigned long long)b->nr_lost);
	if (b->counts.nr_dropped)
		cli_warn("%s: %llu counts were skipped: more than %d distinct ones", b->path,
			 (unsigned long long)b->counts.nr_dropped, CODE_MAX_COUNTS);
}

void code_profile_report_base(const struct counted_binary *b, enum autofdo_base base)
{
	if (!autofdo_bases_differ(b))
		return;
	if (base == AUTOFDO_OFFSET)
		cli_note("%s: addresses are offsets in the file, for simpleperf and AutoFDO of "
			 "today; create_llvm_prof 0.19 needs --autofdo-base=segment",
			 b->path);
	else
		cli_note("%s: addresses count from the first segment, for create_llvm_prof 0.19; "
			 "simpleperf and AutoFDO of today need --autofdo-base=offset",
			 b->path);
}

int code_profile_find_base(const char *name, enum autofdo_base *ret)
{
	if (autofdo_find_base(name, ret))
		return CLI_OK;
	cli_error("--autofdo-base=%s: offset or segment", name);
	return CLI_USAGE;
}

/* --- what was not counted --- */

static enum clew_err note_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct code_profile *p = ctx;

	return cli_etm_note_warning(&p->warnings, what, number, offset);
}

static void report_gaps(const struct code_profile *p)
{
	const struct flow_totals *t = &p->totals.sum;

	cli_etm_report_units(p->in->path, p->trace, NULL);
	if (t->nr_nacc)
		cli_note("%s: code was missing %llu time%s; execution there is not counted",
			 p->in->path, (unsigned long long)t->nr_nacc, t->nr_nacc == 1 ? "" : "s");
	cli_etm_report_dropped(p->in->path, t->nr_dropped);
	if (t->nr_no_sync)
		cli_note("%s: the trace was lost or damaged %llu time%s", p->in->path,
			 (unsigned long long)t->nr_no_sync, t->nr_no_sync == 1 ? "" : "s");
}

const struct clew_diag *code_profile_cut(const struct code_profile *p)
{
	static const struct clew_diag none = {0};

	return p->trace ? &p->trace->cut : p->analysis ? &analyze_summary(p->analysis)->end : &none;
}

static bool has_runs(const struct code_profile *p)
{
	vec_for_each (&p->code.binaries, b) {
		if (b->counts.runs.nr)
			return true;
	}
	return false;
}

static void report_ops(const struct code_profile *p)
{
	if (!p->totals.nr_branches)
		return;
	cli_note("%s: counts are of %llu sampled branches, not of all that ran", p->in->path,
		 (unsigned long long)p->totals.nr_branches);
	if (!has_runs(p))
		cli_note("%s: only taken branches were recorded, without the one before each: it "
			 "is unknown what ran between them",
			 p->in->path);
}

void code_profile_report(const struct code_profile *p)
{
	cli_input_warn_cut(p->in, code_profile_cut(p));
	cli_etm_report_warnings(&p->warnings, p->in->path);
	if (p->trace)
		report_gaps(p);
	report_ops(p);
	stack_notes_report(p->in->path, &p->stacks);
}

/* --- counting --- */

/** Who reads the input next says what is wrong with it. */
static int forget(struct code_profile *p)
{
	counted_code_done(&p->code);
	p->code = (struct counted_code){0};
	return CLI_OK;
}

static int count_trace(struct code_profile *p)
{
	const struct counted_trace_opts opts = {
		.nr_threads = p->nr_threads,
		.listener = {note_warning, p},
	};
	struct clew_diag diag = {0};
	enum clew_err err = counted_trace(&p->code, p->trace, &opts, &p->totals, &diag);

	if (!err)
		return CLI_OK;
	if (p->is_of_branches)
		return forget(p);
	diag.code = err;
	return cli_fail(p->in->path, &diag);
}

static int refuse_recording(const struct code_profile *p)
{
	cli_error("%s: it has neither instruction trace, SPE records nor branch stacks",
		  p->in->path);
	cli_hint("'clew record -j any,u' records branch stacks, if the processor supports it, "
		 "'clew record -e soft_pt//u' instruction trace of any x86-64 machine");
	if (p->instead)
		cli_hint("%s", p->instead);
	return CLI_FAILED;
}

static int refuse_pipe(const struct code_profile *p, const struct clew_diag *why)
{
	int status = cli_input_fail(p->in, why);

	cli_hint("%s", p->takes_samples ? "--no-itrace: count the samples of a pipe"
					: "branch stacks cannot be read from a pipe: give a file");
	return status;
}

static int count_stacks(struct code_profile *p)
{
	struct clew_diag diag = {0};

	if (branch_edges(&p->code, p->analysis, &p->samples, &p->stacks, &diag))
		return p->is_of_branches ? forget(p) : cli_input_fail(p->in, &diag);
	if (!p->stacks.nr_stacks && !p->takes_samples && !p->is_of_branches)
		return refuse_recording(p);
	return CLI_OK;
}

/** A recording without hardware trace. */
static int check_stacks(struct code_profile *p, const struct clew_diag *why)
{
	if (p->takes_samples || p->is_of_branches || branch_edges_has_stacks(p->analysis) ||
	    perf_file_is_pipe(analyze_file(p->analysis)))
		return CLI_OK;
	/* There is trace, at some offset, but of an unknown form. */
	return why->offset ? cli_input_fail(p->in, why) : refuse_recording(p);
}

static int open_file(struct code_profile *p)
{
	const struct perf_trace_wishes any = {0};
	struct clew_diag diag = {0};
	enum clew_err err;

	branch_edges_wish(&p->in->opts, &p->sources);
	if (analyze_open(&p->analysis, &p->in->input, &p->in->opts, &diag))
		return cli_input_fail(p->in, &diag);
	if (p->no_trace)
		return CLI_OK;
	err = perf_trace_open_in(&p->trace, p->analysis, &any, &diag);
	if (err == CLEW_UNSUPPORTED)
		return check_stacks(p, &diag);
	return err ? cli_input_fail(p->in, &diag) : CLI_OK;
}

static int open_pipe(struct code_profile *p)
{
	struct clew_diag diag = {0};
	enum clew_err err = perf_trace_open(&p->trace, &p->in->input, &p->in->opts.symbols, &diag);

	if (err == CLEW_UNSUPPORTED)
		return refuse_pipe(p, &diag);
	return err ? cli_input_fail(p->in, &diag) : CLI_OK;
}

static int open_input(struct code_profile *p)
{
	if (p->in->is_snapshot)
		return cli_etm_open_snapshot(p->in, &p->trace);
	return p->in->input.data || p->no_trace ? open_file(p) : open_pipe(p);
}

/** Threads and times are those of samples; a trace is counted without a look at them. */
static int check_filters(const struct code_profile *p)
{
	if (!p->trace || !(ana_filter_is_set(&p->in->opts.filter) || p->samples.event))
		return CLI_OK;
	cli_error("%s: of a hardware trace all that ran is counted: neither filters nor events "
		  "apply",
		  p->in->path);
	cli_hint("--no-itrace: count the samples in place of it");
	return CLI_USAGE;
}

/** Of an input that is open, with is_of_branches. */
static bool has_branches(const struct code_profile *p)
{
	return p->trace ? !ana_filter_is_set(&p->in->opts.filter)
			: branch_edges_has_stacks(p->analysis);
}

int code_profile_read(struct code_profile *p)
{
	int status = open_input(p);

	if (status == CLI_OK && p->is_of_branches) {
		if (!has_branches(p))
			return CLI_OK;
		return p->trace ? count_trace(p) : count_stacks(p);
	}
	if (status == CLI_OK)
		status = check_filters(p);
	if (status != CLI_OK)
		return status;
	return p->trace ? count_trace(p) : count_stacks(p);
}

enum code_source_kind code_profile_kind(const struct code_profile *p)
{
	if (p->trace)
		return p->totals.nr_ops ? CODE_OF_OPS : CODE_OF_TRACE;
	return p->stacks.nr_stacks ? CODE_OF_STACKS : CODE_OF_SAMPLES;
}

void code_profile_done(struct code_profile *p)
{
	counted_code_done(&p->code);
	branch_edges_totals_done(&p->stacks);
	trace_input_free(p->trace);
	analyze_free(p->analysis);
	branch_sources_done(&p->sources);
	vec_done(&p->warnings);
}
