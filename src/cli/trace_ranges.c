/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "cli/trace.h"

enum { FLUSH = 64 * 1024 };

struct ranges {
	struct trace_command *command;
	struct etm_ranges_text text;
	bool was_decoded[128]; /* by ID */
};

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct ranges *r = ctx;
	enum clew_err err = etm_ranges_text_batch(&r->text, b);

	(void)unit;
	return err || r->text.out.nr < FLUSH ? err : trace_write(r->command, &r->text.out);
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	struct ranges *r = ctx;

	(void)unit, (void)flow;
	etm_ranges_text_end(&r->text);
	return trace_write(r->command, &r->text.out);
}

static enum clew_err print_unit(struct ranges *r, size_t unit, bool *skips, bool is_first,
				struct clew_diag *diag)
{
	struct trace_command *c = r->command;
	struct trace_decode_opts opts = trace_opts_of(c, is_first);
	const struct trace_unit *u = &c->etm.trace->units[unit];
	enum clew_err err;

	r->text = (struct etm_ranges_text){
		.unit = u,
		.is_json = c->is_json,
		.is_later = r->was_decoded[u->id & 0x7f],
		.wants = c->wanted_events,
	};
	etm_ranges_text_init(&r->text);
	opts.skips = skips;
	opts.batch = take_batch;
	opts.unit_end = take_end;
	opts.ctx = r;
	err = trace_decode(c->etm.trace, &opts, diag);
	etm_ranges_text_done(&r->text);
	r->was_decoded[u->id & 0x7f] = true;
	return err;
}

/** One unit after the other, each in a pass of its own: nothing has to be kept to bring their lines
 * in an order that does not depend on how the trace was cut up. */
enum clew_err trace_print_ranges(struct trace_command *c, struct clew_diag *diag)
{
	size_t nr = c->etm.trace->nr_units;
	struct ranges r = {.command = c};
	clew_auto(mem_free_at) bool *skips = mem_alloc(nr ? nr : 1);
	bool is_first = true;
	enum clew_err err = CLEW_OK;

	if (!skips)
		return CLEW_NO_MEMORY;
	memset(skips, true, nr);
	for (size_t i = 0; !err && i < nr; i++) {
		if (c->etm.skips[i] || !c->etm.trace->units[i].is_decodable)
			continue;
		skips[i] = false;
		err = print_unit(&r, i, skips, is_first, diag);
		skips[i] = true;
		is_first = false;
	}
	return err;
}
