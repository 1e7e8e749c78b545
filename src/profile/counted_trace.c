/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/counted_trace.h"

#include "trace/trace_decode.h"

struct gathering {
	struct counted_code *code;
	struct trace_input *trace;
	struct counted_trace_totals *totals;
	const struct counted_trace_opts *opts;
};

static const struct ana_loc *locate(const struct gathering *g, const struct flow_block *b,
				    uint64_t address)
{
	return g->trace->ops->locate(g->trace, b->space, address);
}

static bool is_branch(const struct flow_block *b)
{
	return b->kind == INSN_BRANCH || b->kind == INSN_COND || b->kind == INSN_INDIRECT;
}

static bool add_run(struct gathering *g, const struct flow_edge *e)
{
	const struct flow_block *b = e->from;
	const struct ana_loc *at = locate(g, b, b->start);
	bool is_passed = is_branch(b) ? !e->is_taken : b->kind != INSN_PLAIN;
	struct code_count run = {.a = b->start,
				 .b = b->start + b->bytes - b->last_bytes,
				 .nr = e->nr,
				 .nr_part = is_passed ? e->nr : 0,
				 .last_bytes = b->last_bytes};

	return at && counted_code_add_run(g->code, at, &run);
}

static bool add_branch(struct gathering *g, const struct flow_edge *e)
{
	const struct flow_block *b = e->from;
	const struct ana_loc *from = locate(g, b, b->start + b->bytes - b->last_bytes);
	const struct ana_loc *to = e->has_to ? locate(g, b, e->to) : NULL;
	struct code_count branch = {.nr = e->nr};

	if (b->kind == INSN_INDIRECT)
		branch.flags = b->flags & INSN_RET ? CODE_INDIRECT | CODE_RETURN : CODE_INDIRECT;
	return from && (to || !e->has_to) && counted_code_add_branch(g->code, from, to, &branch);
}

static bool add_edge(void *ctx, const struct flow_edge *e)
{
	return add_run(ctx, e) && (!is_branch(e->from) || !e->is_taken || add_branch(ctx, e));
}

static enum clew_err end_unit(void *ctx, size_t unit, struct flow *flow)
{
	struct gathering *g = ctx;

	(void)unit;
	g->totals->nr_units++;
	flow_totals_add(&g->totals->sum, flow_totals(flow));
	return flow_edges(flow, add_edge, g) ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err counted_trace(struct counted_code *ret, struct trace_input *t,
			    const struct counted_trace_opts *opts,
			    struct counted_trace_totals *totals, struct clew_diag *diag)
{
	struct gathering g = {ret, t, totals, opts};
	const struct trace_decode_opts decode = {.nr_threads = opts->nr_threads,
						 .max_cache_bytes = opts->max_cache_bytes,
						 .listener = opts->listener,
						 .unit_end = end_unit,
						 .ctx = &g};
	enum clew_err err = trace_decode(t, &decode, diag);

	if (err == CLEW_OK)
		counted_code_finish(ret);
	return err;
}
