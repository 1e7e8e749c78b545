/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/counted_cycles.h"

#include "profile/cycle_shares.h"
#include "trace/trace_decode.h"

struct gathering {
	struct counted_code *code;
	struct trace_input *trace;
	struct cycle_shares *units;
};

bool counted_cycles_has(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].is_decodable && t->units[i].has_cycles)
			return true;
	}
	return false;
}

static bool add_share(void *ctx, const struct cycle_share *s)
{
	const struct gathering *g = ctx;
	const struct flow_block *b = &s->block;
	const struct ana_loc *at = g->trace->ops->locate(g->trace, b->space, b->start);
	struct code_count run = {.a = b->start,
				 .b = b->start + b->bytes - b->last_bytes,
				 .nr_timed = s->nr,
				 .cycles = s->cycles,
				 .last_bytes = b->last_bytes};

	return at && counted_code_add_run(g->code, at, &run);
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct gathering *g = ctx;
	const struct cycle_shares_sink to = {add_share, g};

	return cycle_shares_add(&g->units[unit], b, &to);
}

static enum clew_err end_unit(void *ctx, size_t unit, struct flow *flow)
{
	struct gathering *g = ctx;
	const struct cycle_shares_sink to = {add_share, g};

	(void)flow;
	return cycle_shares_end(&g->units[unit], &to) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err decode(struct gathering *g, bool *skips, struct clew_diag *diag)
{
	const struct trace_decode_opts opts = {.nr_threads = 1,
					       .has_cycles = true,
					       .skips = skips,
					       .batch = take_batch,
					       .unit_end = end_unit,
					       .ctx = g};

	for (size_t i = 0; i < g->trace->nr_units; i++) {
		const struct trace_unit *u = &g->trace->units[i];

		skips[i] = !u->has_cycles;
		g->units[i].is_x86 = u->decoder && u->decoder->arch == CODE_X86;
	}
	return trace_decode(g->trace, &opts, diag);
}

enum clew_err counted_cycles(struct counted_code *ret, struct trace_input *t,
			     struct clew_diag *diag)
{
	struct gathering g = {ret, t, mem_calloc(t->nr_units + 1, sizeof(*g.units))};
	bool *skips = mem_calloc(t->nr_units + 1, sizeof(*skips));
	enum clew_err err = CLEW_NO_MEMORY;

	if (g.units && skips)
		err = decode(&g, skips, diag);
	for (size_t i = 0; g.units && i < t->nr_units; i++)
		cycle_shares_done(&g.units[i]);
	mem_free(g.units);
	mem_free(skips);
	return err;
}
