/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/misuse.h"
#include "api/opts.h"
#include "api/trace_impl.h"
#include "trace/snapshot/cs_snapshot.h"

static enum clew_err take_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct clew_trace *t = ctx;

	return trace_pass_taken(t, t->run.warning(t->ctx, what, number, offset));
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	struct clew_trace *t = ctx;

	(void)flow;
	return trace_pass_taken(t, t->run.unit_end(t->ctx, unit));
}

void trace_pass_begin(struct clew_trace *t, const struct clew_trace_run_opts *run)
{
	trace_pull_done(&t->pull);
	for (size_t i = 0; i < t->trace->nr_units; i++)
		trace_state_done(&t->states[i]);
	t->run = *run;
	t->taken = CLEW_OK;
	t->end = (struct clew_diag){0};
	if (t->is_snapshot)
		cs_snapshot_set_piece(t->trace, run->piece_bytes);
}

enum clew_err trace_pass_taken(struct clew_trace *t, enum clew_err result)
{
	if (result != CLEW_OK)
		t->taken = result;
	return api_taken(result);
}

enum clew_err trace_pass_end(struct clew_trace *t, enum clew_err err, const struct clew_diag *why,
			     struct clew_diag *diag)
{
	if (t->taken != CLEW_OK)
		api_fail_taken(&t->end, t->taken);
	else if (err == CLEW_OK || err == CLEW_END)
		t->end = t->trace->cut;
	else if (why && why->code == err)
		t->end = *why;
	else
		clew_fail(&t->end, err, 0, clew_err_name(err));
	if (t->end.code != CLEW_OK && diag)
		*diag = t->end;
	return t->end.code;
}

struct trace_decode_opts trace_pass_opts(struct clew_trace *t)
{
	return (struct trace_decode_opts){
		.nr_threads = t->run.nr_threads,
		.splits_source_ranges = t->run.splits_source_ranges,
		.skips = t->run.skips,
		.listener = {t->run.warning ? take_warning : NULL, t},
		.ctx = t,
	};
}

static enum clew_err take_options(const struct clew_trace *t,
				  const struct clew_trace_run_opts *opts,
				  struct clew_trace_run_opts *ret, struct clew_diag *diag)
{
	static const struct opts_type type = OPTS_TYPE(struct clew_trace_run_opts);

	if (!t)
		return api_misuse(diag, "an argument is NULL");
	if (t->is_running || t->is_pulling)
		return api_misuse(diag, "another pass has begun");
	return opts_take(ret, &type, opts, diag);
}

enum clew_err clew_trace_run(struct clew_trace *t,
			     enum clew_err (*take)(void *ctx, const struct clew_trace_batch *b),
			     void *ctx, const struct clew_trace_run_opts *opts,
			     struct clew_diag *diag)
{
	struct clew_trace_run_opts o = {0};
	struct trace_decode_opts decode;
	struct clew_diag why = {0};
	enum clew_err err =
		take ? take_options(t, opts, &o, diag) : api_misuse(diag, "an argument is NULL");

	if (err != CLEW_OK)
		return err;
	trace_pass_begin(t, &o);
	t->pull.pass = TRACE_OTHER;
	t->take = take;
	t->take_ctx = t->ctx = ctx;
	decode = trace_pass_opts(t);
	decode.batch = trace_take_batch;
	decode.unit_end = o.unit_end ? take_end : NULL;
	t->is_running = true;
	err = trace_decode(t->trace, &decode, &why);
	t->is_running = false;
	return trace_pass_end(t, err, &why, diag);
}

enum clew_err clew_trace_rewind(struct clew_trace *t, void *ctx,
				const struct clew_trace_run_opts *opts, struct clew_diag *diag)
{
	struct clew_trace_run_opts o = {0};
	enum clew_err err = take_options(t, opts, &o, diag);

	if (err != CLEW_OK)
		return err;
	trace_pass_begin(t, &o);
	t->ctx = ctx;
	return CLEW_OK;
}

void clew_trace_progress(const struct clew_trace *t, uint64_t *ret_done, uint64_t *ret_total)
{
	if (ret_done)
		*ret_done = t ? t->trace->given_bytes : 0;
	if (ret_total)
		*ret_total = t ? t->trace->total_bytes : 0;
}
