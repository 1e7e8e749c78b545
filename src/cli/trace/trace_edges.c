/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/u64.h"
#include "cli/trace/trace.h"

enum { FLUSH = 64 * 1024 };

struct edge {
	uint64_t from, to, nr;
	uint32_t space;
	bool is_taken, has_to;
};

struct edges {
	struct trace_command *command;
	struct {
		VEC(struct edge);
	} all;
};

static bool take_edge(void *ctx, const struct flow_edge *e)
{
	struct edges *c = ctx;
	const struct flow_block *b = e->from;
	const struct edge one = {
		.from = b->start + b->bytes - b->last_bytes,
		.to = e->has_to ? e->to : 0,
		.nr = e->nr,
		.space = b->space,
		.is_taken = e->is_taken,
		.has_to = e->has_to,
	};

	return vec_push(&c->all, one);
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	(void)unit;
	return flow_edges(flow, take_edge, ctx) ? CLEW_OK : CLEW_NO_MEMORY;
}

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	int c = u64_compare(x->space, y->space);

	if (!c)
		c = u64_compare(x->from, y->from);
	if (!c)
		c = u64_compare(x->to, y->to);
	if (!c)
		c = u64_compare(x->has_to, y->has_to);
	return c ? c : u64_compare(x->is_taken, y->is_taken);
}

static void merge(struct edges *c)
{
	size_t nr = 0;

	if (c->all.nr)
		qsort(c->all.data, c->all.nr, sizeof(*c->all.data), by_place);
	vec_for_each (&c->all, e) {
		struct edge *last = nr ? &c->all.data[nr - 1] : NULL;

		if (last && !by_place(last, e))
			last->nr += e->nr;
		else
			c->all.data[nr++] = *e;
	}
	c->all.nr = nr;
}

static void put(struct buf *out, const struct edge *e, bool is_json)
{
	buf_str(out, is_json ? "{\"from\":\"0x" : "");
	buf_hex(out, e->from, 0, '0');
	if (e->has_to) {
		buf_str(out, is_json ? "\",\"to\":\"0x" : " ");
		buf_hex(out, e->to, 0, '0');
		buf_str(out, is_json ? "\"" : "");
	} else {
		buf_str(out, is_json ? "\"" : " -");
	}
	buf_str(out, is_json ? ",\"count\":" : " ");
	buf_dec(out, e->nr, 0, ' ');
	if (is_json)
		buf_printf(out, ",\"taken\":%s,\"space\":%u}\n", e->is_taken ? "true" : "false",
			   e->space);
	else
		buf_str(out, e->is_taken ? " 1\n" : " 0\n");
}

static enum clew_err put_all(struct edges *c)
{
	struct buf out = {0};
	enum clew_err err = CLEW_OK;

	vec_for_each (&c->all, e) {
		put(&out, e, c->command->is_json);
		if (out.nr >= FLUSH)
			err = trace_write(c->command, &out);
		if (err)
			break;
	}
	if (!err)
		err = trace_write(c->command, &out);
	buf_done(&out);
	return err;
}

enum clew_err trace_print_edges(struct trace_command *command, struct clew_diag *diag)
{
	struct edges c = {.command = command};
	struct trace_decode_opts opts = trace_opts_of(command, true);
	enum clew_err err;

	opts.unit_end = take_end;
	opts.ctx = &c;
	err = trace_decode(command->etm.trace, &opts, diag);
	if (!err) {
		merge(&c);
		err = put_all(&c);
	}
	vec_done(&c.all);
	return err;
}
