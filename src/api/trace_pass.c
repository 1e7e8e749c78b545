/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/opts.h"
#include "api/trace_impl.h"
#include "trace/snapshot/cs_snapshot.h"

static enum clew_err take_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	const struct clew_trace *t = ctx;

	return t->run.warning(t->ctx, what, number, offset);
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	const struct clew_trace *t = ctx;

	(void)flow;
	return t->run.unit_end(t->ctx, unit);
}

void trace_pass_begin(struct clew_trace *t, const struct clew_trace_run_opts *run)
{
	trace_pull_done(&t->pull);
	for (size_t i = 0; i < t->trace->nr_units; i++)
		trace_state_done(&t->states[i]);
	t->run = *run;
	if (t->is_snapshot)
		cs_snapshot_set_piece(t->trace, run->piece_bytes);
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

enum clew_err clew_trace_run(struct clew_trace *t,
			     enum clew_err (*take)(void *ctx, const struct clew_trace_batch *b),
			     void *ctx, const struct clew_trace_run_opts *opts,
			     struct clew_diag *diag)
{
	struct clew_trace_run_opts o = {0};
	struct trace_decode_opts decode;
	struct clew_diag own;
	enum clew_err err = opts_take(&o, sizeof(o), opts, diag);

	if (err != CLEW_OK)
		return err;
	trace_pass_begin(t, &o);
	t->pull.pass = TRACE_OVER;
	t->take = take;
	t->take_ctx = t->ctx = ctx;
	decode = trace_pass_opts(t);
	decode.batch = trace_take_batch;
	decode.unit_end = o.unit_end ? take_end : NULL;
	return trace_decode(t->trace, &decode, diag ? diag : &own);
}

enum clew_err clew_trace_rewind(struct clew_trace *t, void *ctx,
				const struct clew_trace_run_opts *opts, struct clew_diag *diag)
{
	struct clew_trace_run_opts o = {0};
	enum clew_err err = opts_take(&o, sizeof(o), opts, diag);

	if (err != CLEW_OK)
		return err;
	trace_pass_begin(t, &o);
	t->ctx = ctx;
	return CLEW_OK;
}

void clew_trace_progress(const struct clew_trace *t, uint64_t *ret_done, uint64_t *ret_total)
{
	*ret_done = t->trace->given_bytes;
	*ret_total = t->trace->total_bytes;
}
