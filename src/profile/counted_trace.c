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

/* --- sampled operations --- */

enum { MAX_RUN_BYTES = 1 << 20, INSN_BYTES = 4 };

/** An address as the operation sees it, at @p level. */
static const struct ana_loc *locate_op(const struct gathering *g, size_t unit,
				       const struct trace_ops_batch *b, const struct trace_op *o,
				       uint8_t level, uint64_t address)
{
	const struct code_source *code = g->trace->units[unit].code;
	struct code_key key = trace_op_key(o, b->bound);

	trace_op_key_at(code, level, o->pc, &key);
	return g->trace->ops->locate(g->trace, code->space(code->ctx, &key), address);
}

/** What ran from the target of the branch before to this one; without that, the branch alone. */
static bool add_op_run(const struct gathering *g, const struct trace_op *o,
		       const struct ana_loc *from, const struct ana_loc *pc, bool is_taken)
{
	bool is_run = from && from->dso && from->dso == pc->dso && from->rel <= pc->rel &&
		      pc->rel - from->rel <= MAX_RUN_BYTES;
	struct code_count run = {.a = is_run ? o->op.prev_target : o->pc,
				 .b = o->pc,
				 .nr = 1,
				 .nr_part = !is_taken,
				 .last_bytes = INSN_BYTES,
				 .flags = CODE_SAMPLED};

	if (is_taken && !is_run)
		return true;
	return counted_code_add_run(g->code, is_run ? from : pc, &run);
}

static bool add_op(const struct gathering *g, size_t unit, const struct trace_ops_batch *b,
		   const struct trace_op *o)
{
	const struct ana_op *op = &o->op;
	bool is_taken = !(op->events & ANA_OP_NOT_TAKEN);
	const struct ana_loc *pc = locate_op(g, unit, b, o, op->level, o->pc);
	const struct ana_loc *to = NULL, *from = NULL;
	struct code_count branch = {.nr = 1, .nr_part = !!(op->events & ANA_OP_MISPREDICTED)};

	if (op->has & ANA_OP_HAS_TARGET)
		to = locate_op(g, unit, b, o, op->target_level, op->target);
	if (op->has & ANA_OP_HAS_PREV_TARGET)
		from = locate_op(g, unit, b, o, op->level, op->prev_target);
	if (!pc || (op->has & ANA_OP_HAS_TARGET && !to))
		return false;
	if (is_taken && to && !counted_code_add_branch(g->code, pc, to, &branch))
		return false;
	return add_op_run(g, o, from, pc, is_taken);
}

static bool is_squashed(const struct ana_op *op)
{
	return op->has & ANA_OP_HAS_EVENTS && !(op->events & ANA_OP_RETIRED);
}

static enum clew_err add_ops(void *ctx, size_t unit, const struct trace_ops_batch *b)
{
	struct gathering *g = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct trace_op *o = &b->ops[i];

		g->totals->nr_ops++;
		if (!(o->op.has & ANA_OP_HAS_KIND) || o->op.kind != ANA_OP_BRANCH ||
		    is_squashed(&o->op))
			continue;
		g->totals->nr_branches++;
		if (!add_op(g, unit, b, o))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static enum clew_err end_ops(void *ctx, size_t unit, const struct trace_ops_counts *c)
{
	struct gathering *g = ctx;

	(void)unit;
	g->totals->nr_units++;
	g->totals->sum.nr_bytes += c->nr_bytes;
	return CLEW_OK;
}

/** Of taken branches alone no run is known: that each ran where it is, is. */
static bool add_samples(struct counted_binary *b)
{
	if (b->counts.runs.nr)
		return true;
	vec_for_each (&b->counts.branches, e) {
		if (e->a != CODE_ELSEWHERE && !code_counts_add_sample(&b->counts, e->a, e->nr))
			return false;
	}
	return true;
}

static enum clew_err end_ops_of_all(struct counted_code *c)
{
	vec_for_each (&c->binaries, b) {
		if (!add_samples(b))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
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
						 .ops = add_ops,
						 .ops_end = end_ops,
						 .ctx = &g};
	enum clew_err err = trace_decode(t, &decode, diag);

	if (err == CLEW_OK && totals->nr_ops)
		err = end_ops_of_all(ret);
	if (err == CLEW_OK)
		counted_code_finish(ret);
	return err;
}
