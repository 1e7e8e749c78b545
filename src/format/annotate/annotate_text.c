/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/annotate/annotate_text.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/same_text.h"
#include "format/annotate/jump_lanes.h"
#include "format/sink_flush.h"

enum {
	FLUSH_BYTES = 64 << 10,
	TAB = 8,
	SHARE_WIDTH = 8,
	COUNT_WIDTH = 11,
	FLOW_WIDTH = 12,
	CYCLES_WIDTH = 9
};

struct writer {
	const struct annotation *a;
	const struct annotate_text_opts *opts;
	const struct clew_sink *sink;
	struct annotate_lines *lines; /* text stays, and its lines go here; or NULL */
	struct jump_lanes lanes;
	struct buf out;
	unsigned int address_digits;
};

/* As perf colours them. */
static const char *colour_of(const struct writer *w, double share)
{
	if (!w->opts->is_colored)
		return NULL;
	return share >= 5 ? "\033[31m" : share >= 0.5 ? "\033[32m" : NULL;
}

static double share_of(const struct ann_weight *part, const struct ann_weight *whole)
{
	if (whole->period)
		return 100.0 * (double)part->period / (double)whole->period;
	return whole->nr ? 100.0 * (double)part->nr / (double)whole->nr : 0;
}

/* What weighs nothing stays blank: the others are found at a glance. */
static void put_weight(struct writer *w, const struct ann_weight *v, const struct ann_column *c)
{
	double share = share_of(v, &c->weight);
	const char *colour = colour_of(w, share);
	unsigned int width = w->opts->has_counts ? COUNT_WIDTH : SHARE_WIDTH;
	char text[32] = "";

	if (w->opts->has_counts && v->nr)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v->nr);
	else if (v->nr)
		snprintf(text, sizeof(text), "%.2f", share);
	if (strlen(text) < width)
		buf_fill(&w->out, ' ', width - strlen(text));
	if (colour)
		buf_str(&w->out, colour);
	buf_str(&w->out, text);
	if (colour)
		buf_str(&w->out, "\033[m");
}

static void put_number(struct writer *w, uint64_t v, bool is_known)
{
	char text[32] = "";

	if (is_known)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	buf_field(&w->out, text, FLOW_WIDTH);
}

/* 0 is unknown: no instruction passes in no time. */
static void put_average(struct writer *w, double v)
{
	char text[32] = "";

	if (v > 0)
		snprintf(text, sizeof(text), "%.2f", v);
	buf_field(&w->out, text, CYCLES_WIDTH);
}

static void put_cycles(struct writer *w, const struct ann_insn *n)
{
	if (!w->a->has_cycles)
		return;
	put_average(w, n ? ann_insn_cycles(n) : 0);
	put_average(w, n ? ann_run_cycles(n) : 0);
	put_average(w, n ? ann_run_ipc(n) : 0);
}

static void put_flow(struct writer *w, const struct ann_insn *n)
{
	bool may_pass = n && n->kind == INSN_COND, goes = n && (n->taken || may_pass);

	if (w->a->flow == ANN_FLOW_NONE)
		return;
	put_number(w, n ? n->executed : 0, n && n->executed);
	put_number(w, n ? n->taken : 0, goes && (n->executed || n->taken));
	put_number(w, n ? n->executed - n->taken : 0, may_pass && n->executed);
	put_cycles(w, n);
}

/* --- the head --- */

static void put_id(struct buf *out, const struct dso_build_id *id)
{
	if (!id->size)
		return;
	buf_str(out, ", build id ");
	buf_hex_bytes(out, id->bytes, id->size);
}

static void put_column_head(struct writer *w, const struct ann_column *c)
{
	if (c->is_executed) {
		buf_printf(&w->out, "# %llu instructions executed\n",
			   (unsigned long long)c->weight.nr);
		return;
	}
	escape_printf(
		&w->out, "# %s: %llu samples, %llu in all%s\n", c->name ? c->name : "?",
		(unsigned long long)c->weight.nr, (unsigned long long)c->weight.period,
		c->may_skid ? "; not precise: a sample may count for an instruction before its own"
			    : "");
}

static void put_head(struct writer *w)
{
	const struct annotation *a = w->a;

	buf_str(&w->out, "# ");
	escape_str(&w->out, a->symbol);
	buf_str(&w->out, " in ");
	escape_str(&w->out, a->dso);
	put_id(&w->out, &a->build_id);
	buf_char(&w->out, '\n');
	vec_for_each (&a->columns, c)
		put_column_head(w, c);
	if (a->why)
		escape_printf(&w->out, "# its instructions are unknown: %s\n", a->why);
	if (a->flow == ANN_FLOW_SAMPLED)
		buf_str(&w->out, "# executed, taken, not taken: in branch stacks of samples\n");
	if (a->flow == ANN_FLOW_BRANCHES)
		buf_str(&w->out,
			"# taken: of branches that were sampled; what else was executed is "
			"unknown\n");
	if (a->flow == ANN_FLOW_EXACT)
		buf_str(&w->out, "# executed, taken, not taken: counted in the trace\n");
	if (a->has_cycles)
		buf_printf(&w->out,
			   "# Cycles: of one execution, the block's divided by its instructions; "
			   "Block: from %s to here; IPC: instructions per cycle in it\n",
			   a->flow == ANN_FLOW_EXACT ? "the branch before"
						     : "the taken branch before");
}

static void put_titles(struct writer *w)
{
	vec_for_each (&w->a->columns, c)
		buf_field(&w->out,
			  !w->opts->has_counts ? "Percent"
			  : c->is_executed     ? "Executed"
					       : "Samples",
			  w->opts->has_counts ? COUNT_WIDTH : SHARE_WIDTH);
	if (w->a->flow != ANN_FLOW_NONE) {
		buf_field(&w->out, "Executed", FLOW_WIDTH);
		buf_field(&w->out, "Taken", FLOW_WIDTH);
		buf_field(&w->out, "Not taken", FLOW_WIDTH);
	}
	if (w->a->has_cycles) {
		buf_field(&w->out, "Cycles", CYCLES_WIDTH);
		buf_field(&w->out, "Block", CYCLES_WIDTH);
		buf_field(&w->out, "IPC", CYCLES_WIDTH);
	}
	buf_str(&w->out, " | Source and instructions\n");
}

/* --- lines --- */

/* Columns of text before each line of source. */
static void put_margin(struct writer *w, size_t insn)
{
	size_t width = w->a->columns.nr * (w->opts->has_counts ? COUNT_WIDTH : SHARE_WIDTH);

	buf_fill(&w->out, ' ', width);
	put_flow(w, NULL);
	buf_str(&w->out, " | ");
	jump_lanes_put(&w->lanes, &w->out, insn, true);
}

static const char *short_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_place(struct writer *w, const char *file, uint32_t line, bool is_short)
{
	escape_printf(&w->out, "%s:%u", !file ? "?" : is_short ? short_name(file) : file, line);
}

static const struct ann_inline *inlines_of(const struct writer *w, const struct ann_line *l)
{
	return l->nr_inlines ? &w->a->inlines.data[l->first_inline] : NULL;
}

static bool is_same_call(const struct ann_inline *a, const struct ann_inline *b)
{
	return a->line == b->line && is_same_text(a->function, b->function) &&
	       is_same_text(a->file, b->file);
}

static bool is_same_stack(const struct writer *w, const struct ann_line *a,
			  const struct ann_line *b)
{
	const struct ann_inline *x = inlines_of(w, a), *y = inlines_of(w, b);

	if (a->nr_inlines != b->nr_inlines)
		return false;
	for (uint32_t i = 0; i < a->nr_inlines; i++) {
		if (!is_same_call(&x[i], &y[i]))
			return false;
	}
	return true;
}

/* Where the function, inlined or not, or its file is another one than before. */
static void put_stack(struct writer *w, const struct ann_line *l, const struct ann_line *before,
		      size_t insn)
{
	const struct ann_inline *calls = inlines_of(w, l);
	bool is_same = before && is_same_stack(w, l, before);

	if (is_same && is_same_text(l->file, before->file))
		return;
	for (uint32_t i = is_same ? 0 : l->nr_inlines; i > 0; i--) {
		put_margin(w, insn);
		escape_printf(&w->out, "inlined %s at ",
			      calls[i - 1].function ? calls[i - 1].function : "?");
		put_place(w, calls[i - 1].file, calls[i - 1].line, !w->opts->has_places);
		buf_char(&w->out, '\n');
	}
	if (before && !is_same && !l->nr_inlines) {
		put_margin(w, insn);
		escape_printf(&w->out, "%s:\n", w->a->symbol);
	}
}

/* Tabs become spaces, as the columns before them move the stops. */
static void put_source(struct buf *out, const char *text, size_t size)
{
	size_t column = 0, from = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i < size && text[i] != '\t') {
			column++;
			continue;
		}
		escape_add(out, text + from, i - from);
		from = i + 1;
		if (i < size) {
			buf_fill(out, ' ', TAB - column % TAB);
			column += TAB - column % TAB;
		}
	}
}

static struct ann_weight sum_of(const struct writer *w, size_t first, size_t column)
{
	const struct annotation *a = w->a;
	struct ann_weight sum = {0};

	for (size_t i = first;
	     i < a->insns.nr && a->insns.data[i].line == a->insns.data[first].line; i++)
		ann_weight_add(&sum, annotation_weight(a, i, column));
	return sum;
}

static void put_line(struct writer *w, size_t insn, const struct ann_line *before)
{
	const struct annotation *a = w->a;
	const struct ann_line *l = &a->lines.data[a->insns.data[insn].line];

	put_stack(w, l, before, insn);
	for (size_t i = 0; i < a->columns.nr; i++) {
		struct ann_weight sum = sum_of(w, insn, i);

		put_weight(w, &sum, &a->columns.data[i]);
	}
	put_flow(w, NULL);
	buf_str(&w->out, " > ");
	jump_lanes_put(&w->lanes, &w->out, insn, true);
	if (w->opts->has_places || !l->text)
		put_place(w, l->file, l->line, !w->opts->has_places);
	else
		buf_dec(&w->out, l->line, 4, ' ');
	if (l->text_bytes) {
		buf_str(&w->out, "  ");
		put_source(&w->out, l->text, l->text_bytes);
	}
	buf_char(&w->out, '\n');
}

/* --- instructions --- */

static void put_callee(struct writer *w, const struct ann_insn *n)
{
	if (!n->callee)
		return;
	buf_str(&w->out, " <");
	escape_str(&w->out, n->callee);
	if (n->callee_offset)
		buf_printf(&w->out, "+0x%llx", (unsigned long long)n->callee_offset);
	buf_char(&w->out, '>');
}

static void put_insn(struct writer *w, size_t i)
{
	const struct annotation *a = w->a;
	const struct ann_insn *n = &a->insns.data[i];

	for (size_t k = 0; k < a->columns.nr; k++)
		put_weight(w, annotation_weight(a, i, k), &a->columns.data[k]);
	put_flow(w, n);
	buf_str(&w->out, " | ");
	jump_lanes_put(&w->lanes, &w->out, i, false);
	buf_fill(&w->out, ' ', 4);
	buf_hex(&w->out, n->address, w->address_digits, ' ');
	if (n->text_bytes) {
		buf_str(&w->out, ":  ");
		escape_add(&w->out, a->text.data + n->text, n->text_bytes);
	}
	put_callee(w, n);
	buf_char(&w->out, '\n');
}

/* What was written from byte @p from on. */
static bool add_lines(struct writer *w, size_t from, size_t insn, bool is_insn)
{
	bool ok = !w->out.is_failed;

	while (ok && from < w->out.nr) {
		const char *at = w->out.data + from, *end = memchr(at, '\n', w->out.nr - from);
		size_t bytes = (size_t)(end - at);

		ok = vec_push(&w->lines->lines,
			      (struct annotate_line){from, bytes, (uint32_t)insn, is_insn});
		from += bytes + 1;
	}
	return ok;
}

static enum clew_err end_lines(struct writer *w, size_t from, size_t insn, bool is_insn)
{
	if (!w->lines)
		return sink_flush(w->sink, &w->out, FLUSH_BYTES);
	return add_lines(w, from, insn, is_insn) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err put_all(struct writer *w)
{
	const struct annotation *a = w->a;
	const struct ann_line *before = NULL;
	uint32_t line = ANN_NONE;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < a->insns.nr && err == CLEW_OK; i++) {
		uint32_t at = a->insns.data[i].line;
		size_t from = w->out.nr;

		if (at != ANN_NONE && at != line && !w->opts->no_source) {
			put_line(w, i, before);
			err = end_lines(w, from, i, false);
			before = &a->lines.data[at];
		}
		line = at;
		from = w->out.nr;
		put_insn(w, i);
		if (err == CLEW_OK)
			err = end_lines(w, from, i, true);
	}
	return err;
}

static unsigned int digits_of(const struct annotation *a)
{
	uint64_t last = a->insns.nr ? a->insns.data[a->insns.nr - 1].address : 0;
	unsigned int nr = 1;

	while (last >>= 4)
		nr++;
	return nr;
}

enum clew_err annotate_text(const struct annotation *a, const struct annotate_text_opts *opts,
			    const struct clew_sink *sink)
{
	struct writer w = {.a = a, .opts = opts, .sink = sink};
	enum clew_err err = CLEW_NO_MEMORY;

	w.address_digits = digits_of(a);
	if (jump_lanes_make(&w.lanes, a)) {
		put_head(&w);
		put_titles(&w);
		err = put_all(&w);
		if (err == CLEW_OK)
			err = sink_flush(sink, &w.out, 0);
	}
	jump_lanes_done(&w.lanes);
	buf_done(&w.out);
	return err;
}

enum clew_err annotate_lines_make(struct annotate_lines *l, const struct annotation *a,
				  const struct annotate_text_opts *opts)
{
	struct writer w = {.a = a, .opts = opts, .lines = l};
	enum clew_err err = CLEW_NO_MEMORY;

	*l = (struct annotate_lines){.head_bytes = 0};
	w.address_digits = digits_of(a);
	if (jump_lanes_make(&w.lanes, a)) {
		put_head(&w);
		l->head_bytes = w.out.nr;
		put_titles(&w);
		l->titles_bytes = w.out.nr - l->head_bytes;
		err = put_all(&w);
	}
	jump_lanes_done(&w.lanes);
	l->text = w.out;
	return err;
}

void annotate_lines_done(struct annotate_lines *l)
{
	buf_done(&l->text);
	vec_done(&l->lines);
}
