/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/annotate/annotate_json.h"

#include "base/cleanup.h"
#include "format/annotate/jump_lanes.h"
#include "format/json_put.h"
#include "format/sink_flush.h"

enum { VERSION = 1, FLUSH_BYTES = 64 << 10 };

static struct json_put resume(struct annotate_json *j)
{
	return (struct json_put){.out = &j->out, .needs_comma = j->needs_comma};
}

static enum clew_err pause_at(struct annotate_json *j, const struct json_put *p, size_t least)
{
	j->needs_comma = p->needs_comma;
	return sink_flush(j->sink, &j->out, least);
}

void annotate_json_done(struct annotate_json *j)
{
	buf_done(&j->out);
}

enum clew_err annotate_json_begin(struct annotate_json *j)
{
	struct json_put p = resume(j);

	json_open(&p, '{');
	json_put_string(&p, "format", "clew-annotate");
	json_put_u64(&p, "version", VERSION);
	json_key(&p, "symbols");
	json_open(&p, '[');
	return pause_at(j, &p, FLUSH_BYTES);
}

static void put_part(struct json_put *p, const char *key, const char *text, size_t size)
{
	clew_auto(buf_done) struct buf copy = {0};

	buf_add(&copy, text, size);
	json_put_string(p, key, buf_cstr(&copy));
}

static void put_columns(struct json_put *p, const struct annotation *a)
{
	json_key(p, "events");
	json_open(p, '[');
	vec_for_each (&a->columns, c) {
		json_open(p, '{');
		json_put_string(p, "name", c->name);
		json_put_string(p, "counts", c->is_executed ? "executed" : "samples");
		json_put_u64(p, "samples", c->weight.nr);
		json_put_u64(p, "period", c->weight.period);
		json_put_u64(p, "precise", c->precise);
		json_put_bool(p, "may_skid", c->may_skid);
		json_close(p, '}');
	}
	json_close(p, ']');
}

static void put_inlines(struct json_put *p, const struct annotation *a, const struct ann_line *l)
{
	if (!l->nr_inlines)
		return;
	json_key(p, "inlined");
	json_open(p, '[');
	for (uint32_t i = 0; i < l->nr_inlines; i++) {
		const struct ann_inline *in = &a->inlines.data[l->first_inline + i];

		json_open(p, '{');
		json_put_string(p, "function", in->function);
		json_put_string(p, "file", in->file);
		json_put_u64(p, "line", in->line);
		json_close(p, '}');
	}
	json_close(p, ']');
}

static void put_line(struct json_put *p, const struct annotation *a, const struct ann_line *l)
{
	json_open(p, '{');
	json_put_string(p, "file", l->file);
	json_put_u64(p, "line", l->line);
	put_inlines(p, a, l);
	if (l->text)
		put_part(p, "text", l->text, l->text_bytes);
	json_close(p, '}');
}

static void put_weights(struct json_put *p, const struct annotation *a, size_t insn)
{
	json_key(p, "samples");
	json_open(p, '[');
	for (size_t i = 0; i < a->columns.nr; i++)
		json_u64(p, annotation_weight(a, insn, i)->nr);
	json_close(p, ']');
	json_key(p, "period");
	json_open(p, '[');
	for (size_t i = 0; i < a->columns.nr; i++)
		json_u64(p, annotation_weight(a, insn, i)->period);
	json_close(p, ']');
}

static void put_flow(struct json_put *p, const struct ann_insn *n, bool has_executed)
{
	if (has_executed)
		json_put_u64(p, "executed", n->executed);
	if (n->taken || (n->kind == INSN_COND && has_executed))
		json_put_u64(p, "taken", n->taken);
	if (n->kind == INSN_COND && has_executed)
		json_put_u64(p, "not_taken", n->executed - n->taken);
	if (n->mispredicted)
		json_put_u64(p, "mispredicted", n->mispredicted);
}

static void put_average(struct json_put *p, const char *key, double v)
{
	if (v > 0)
		json_put_double(p, key, v);
}

static void put_cycles(struct json_put *p, const struct ann_insn *n)
{
	put_average(p, "cycles", ann_insn_cycles(n));
	put_average(p, "block_cycles", ann_run_cycles(n));
	put_average(p, "block_ipc", ann_run_ipc(n));
	if (n->nr_timed)
		json_put_u64(p, "timed", n->nr_timed);
	if (n->nr_runs_timed)
		json_put_u64(p, "blocks_timed", n->nr_runs_timed);
}

static void put_jump(struct json_put *p, const struct jump_lanes *l, size_t i)
{
	const struct ann_insn *all = l->a->insns.data;
	int lane = jump_lanes_of(l, i);

	json_put_hex(p, "target", all[all[i].target].address);
	if (lane >= 0)
		json_put_i64(p, "lane", lane);
}

static void put_insn(struct json_put *p, const struct jump_lanes *l, size_t i)
{
	const struct annotation *a = l->a;
	const struct ann_insn *n = &a->insns.data[i];

	json_open(p, '{');
	json_put_hex(p, "address", n->address);
	if (n->bytes)
		json_put_u64(p, "bytes", n->bytes);
	if (n->text_bytes)
		put_part(p, "text", a->text.data + n->text, n->text_bytes);
	if (n->line != ANN_NONE)
		json_put_u64(p, "line", n->line);
	put_weights(p, a, i);
	if (n->target != ANN_NONE)
		put_jump(p, l, i);
	if (n->callee) {
		json_put_string(p, "callee", n->callee);
		json_put_u64(p, "callee_offset", n->callee_offset);
	}
	if (a->flow != ANN_FLOW_NONE)
		put_flow(p, n, a->flow != ANN_FLOW_BRANCHES);
	if (a->has_cycles)
		put_cycles(p, n);
	json_close(p, '}');
}

static void put_id(struct json_put *p, const struct dso_build_id *id)
{
	clew_auto(buf_done) struct buf hex = {0};

	buf_hex_bytes(&hex, id->bytes, id->size);
	json_put_string(p, "build_id", id->size ? buf_cstr(&hex) : NULL);
}

static void put_head(struct json_put *p, const struct annotation *a)
{
	static const char *const flows[] = {NULL, "branch_stacks", "trace", "branches"};

	json_put_string(p, "symbol", a->symbol);
	json_put_string(p, "dso", a->dso);
	put_id(p, &a->build_id);
	json_put_bool(p, "is_linked", a->is_linked);
	json_put_string(p, "no_code", a->why);
	json_put_string(p, "flow", flows[a->flow]);
	json_put_bool(p, "has_cycles", a->has_cycles);
	put_columns(p, a);
}

static enum clew_err put_symbol(struct annotate_json *j, const struct annotation *a,
				const struct jump_lanes *l)
{
	struct json_put p = resume(j);
	enum clew_err err = CLEW_OK;

	json_open(&p, '{');
	put_head(&p, a);
	json_key(&p, "lines");
	json_open(&p, '[');
	vec_for_each (&a->lines, line)
		put_line(&p, a, line);
	json_close(&p, ']');
	json_key(&p, "instructions");
	json_open(&p, '[');
	for (size_t i = 0; i < a->insns.nr && err == CLEW_OK; i++) {
		put_insn(&p, l, i);
		err = pause_at(j, &p, FLUSH_BYTES);
	}
	json_close(&p, ']');
	json_close(&p, '}');
	return err == CLEW_OK ? pause_at(j, &p, FLUSH_BYTES) : err;
}

enum clew_err annotate_json(struct annotate_json *j, const struct annotation *a)
{
	enum clew_err err = CLEW_NO_MEMORY;
	struct jump_lanes lanes;

	if (jump_lanes_make(&lanes, a))
		err = put_symbol(j, a, &lanes);
	jump_lanes_done(&lanes);
	return err;
}

enum clew_err annotate_json_end(struct annotate_json *j, const struct ann_sources *sources)
{
	struct json_put p = resume(j);

	json_close(&p, ']');
	json_key(&p, "sources");
	json_open(&p, '[');
	vec_for_each (&sources->files, f) {
		json_open(&p, '{');
		json_put_string(&p, "name", f->name);
		json_put_string(&p, "path", f->path);
		json_put_bool(&p, "is_newer", f->is_newer);
		json_close(&p, '}');
	}
	json_close(&p, ']');
	json_close(&p, '}');
	buf_char(&j->out, '\n');
	return pause_at(j, &p, 0);
}
