/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/annotate_flow.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/stack_notes.h"
#include "profile/counted_cycles.h"
#include "profile/counted_trace.h"
#include "trace/perf/perf_trace.h"

static enum clew_err count_trace(struct annotate_flow *f, struct clew_diag *diag)
{
	const struct perf_trace_wishes any = {0};
	const struct counted_trace_opts opts = {.nr_threads = 1};
	struct counted_trace_totals totals = {0};
	enum clew_err err = perf_trace_open_in(&f->trace, f->analysis, &any, diag);

	if (err != CLEW_OK)
		return err;
	f->trace->progress = cli_progress();
	if (counted_cycles_has(f->trace)) {
		cli_progress_begin("counting cycles", f->trace->total_bytes);
		err = counted_cycles(&f->code, f->trace, diag);
		if (err != CLEW_OK)
			return err;
	}
	cli_progress_begin("counting what the trace executed", f->trace->total_bytes);
	err = counted_trace(&f->code, f->trace, &opts, &totals, diag);
	/* Sampled operations are no exact counts. */
	f->kind = totals.nr_ops ? ANN_FLOW_SAMPLED : ANN_FLOW_EXACT;
	return err;
}

static enum clew_err count_stacks(struct annotate_flow *f, const char *path, struct clew_diag *diag)
{
	enum clew_err err;

	cli_progress_begin("counting branches", 0);
	err = branch_edges(&f->code, f->analysis, NULL, &f->stacks, diag);
	f->kind = f->stacks.nr_stacks ? ANN_FLOW_SAMPLED : ANN_FLOW_NONE;
	if (err == CLEW_OK)
		stack_notes_report(path, &f->stacks);
	return err;
}

int annotate_flow_read(struct annotate_flow *f, const struct cli_input *in, struct analyze *first,
		       bool has_trace)
{
	struct ana_opts opts = in->opts;
	struct clew_diag diag = {0};
	enum clew_err err;

	if (!in->input.data || (!has_trace && !branch_edges_has_stacks(first)))
		return CLI_OK;
	if (has_trace && ana_filter_is_set(&in->opts.filter)) {
		cli_note("%s: executed instructions are counted of the whole trace alone: with "
			 "these filters samples of it are shown",
			 in->path);
		return CLI_OK;
	}
	branch_edges_wish(&opts, &f->sources);
	opts.dsos = analyze_dsos(first);
	err = analyze_open(&f->analysis, &in->input, &opts, &diag);
	if (err == CLEW_OK)
		err = has_trace ? count_trace(f, &diag) : count_stacks(f, in->path, &diag);
	/* What is damaged was said of the first pass. */
	if (err == CLEW_OK || err == CLEW_BAD_FILE || err == CLEW_UNSUPPORTED)
		return CLI_OK;
	diag.code = err;
	return cli_input_fail(in, &diag);
}

static bool is_of(const struct counted_binary *b, const struct annotation *a)
{
	return b->dso && (b->dso == a->of ||
			  (dso_kind(b->dso) == dso_kind(a->of) && dso_kind(a->of) == DSO_USER &&
			   !strcmp(dso_path(b->dso), dso_path(a->of))));
}

bool annotate_flow_add(const struct annotate_flow *f, struct annotation *a)
{
	if (f->kind == ANN_FLOW_NONE)
		return true;
	vec_for_each (&f->code.binaries, b) {
		if (is_of(b, a) && !annotation_add_flow(a, &b->counts, !b->is_not_found, f->kind))
			return false;
	}
	return true;
}

void annotate_flow_done(struct annotate_flow *f)
{
	counted_code_done(&f->code);
	trace_input_free(f->trace);
	analyze_free(f->analysis);
	branch_edges_totals_done(&f->stacks);
	branch_sources_done(&f->sources);
}
