/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_text_impl.h"

/*
 *	            |
 *	            ---main
 *	               work
 *	               |--60.00%--parse
 *	               |          read
 *	               '--39.00%--print
 *
 * A run of frames is one column of names, as long as less than the limit on branches leaves it; at
 * a fork each branch has its share.
 */
enum {
	MARGIN = 12,
	INDENT = 11,
	MIN_INDENT = 2,
	MAX_FORKS = 60,
	NAME_COLUMNS = 40, /* of a branch, where the terminal has twice as many */
};

struct drawing {
	struct report_writer *w;
	struct report_branches b;
	/* Shape of this branch, outermost fork first: do lines continue below? */
	bool goes_on[MAX_FORKS];
	unsigned int extra;   /* columns before the first fork */
	unsigned int indent;  /* of a fork */
	unsigned int deepest; /* forks inside each other */
};

bool report_branches_mark_last(struct report_branches *b)
{
	size_t depths = 0;
	bool *open;

	for (size_t i = 0; i < b->nr; i++)
		depths = b->nodes[i].depth > depths ? b->nodes[i].depth : depths;
	open = mem_calloc(depths + 2, sizeof(*open));
	for (size_t i = b->nr; open && i-- > 0;) {
		uint32_t depth = b->nodes[i].depth;

		b->is_last[i] = !open[depth];
		open[depth] = true;
		open[depth + 1] = false;
	}
	mem_free(open);
	return open != NULL;
}

static void put_margin(struct drawing *d, unsigned int forks)
{
	struct buf *out = &d->w->out;

	d->deepest = forks > d->deepest ? forks : d->deepest;
	buf_fill(out, ' ', MARGIN + d->extra);
	for (unsigned int i = 0; i < forks; i++) {
		buf_char(out, d->goes_on[i] ? '|' : ' ');
		buf_fill(out, ' ', d->indent - 1);
	}
}

void report_put_frame(struct report_writer *w, uint32_t frame, size_t width)
{
	buf_clear(&w->cell);
	report_feed_frame_name(w->feed, frame, &w->cell);
	report_put_cell(w, width);
}

void report_put_nr_more(struct report_writer *w, uint32_t nr)
{
	buf_printf(&w->out, "[%u more frame%s]", nr, nr == 1 ? "" : "s");
}

static void put_name_line(struct drawing *d, uint32_t frame)
{
	report_put_frame(d->w, frame, SIZE_MAX);
	report_end_line(d->w);
}

/* Below the last frame that is drawn, if the path continues. */
static void put_more(struct drawing *d, uint32_t nr, unsigned int forks)
{
	if (!nr)
		return;
	put_margin(d, forks);
	report_put_nr_more(d->w, nr);
	report_end_line(d->w);
}

bool report_branches_continues(const struct report_branches *b, size_t i,
			       const struct report_text_opts *opts)
{
	uint64_t above, whole;

	if (i >= b->nr || b->nodes[i].depth != b->nodes[i - 1].depth + 1 || !b->is_last[i])
		return false;
	above = b->nodes[i - 1].period;
	whole = opts->is_relative ? above : b->whole;
	return b->nodes[i].period == above ||
	       (double)(above - b->nodes[i].period) < opts->min_share * (double)whole;
}

static bool continues(const struct drawing *d, size_t i)
{
	return report_branches_continues(&d->b, i, d->w->opts);
}

void report_put_amount(struct report_writer *w, uint64_t part, uint64_t whole)
{
	if (w->opts->has_periods)
		buf_dec(&w->out, part, 0, ' ');
	else
		report_put_share(w, part, whole, 0);
}

/* Node @p i at a fork, with the run after it. @return index of the node after the run. */
static size_t put_branch(struct drawing *d, size_t i, unsigned int fork, uint64_t whole)
{
	put_margin(d, fork);
	buf_str(&d->w->out, d->b.is_last[i] ? "'--" : "|--");
	report_put_amount(d->w, d->b.nodes[i].period, whole);
	buf_str(&d->w->out, "--");
	put_name_line(d, d->b.nodes[i].frame);
	d->goes_on[fork] = !d->b.is_last[i];
	for (i++; continues(d, i); i++) {
		put_margin(d, fork + 1);
		put_name_line(d, d->b.nodes[i].frame);
	}
	put_more(d, d->b.nodes[i - 1].nr_more, fork + 1);
	return i;
}

/* The only first frame and its run, without a share. @return index of the next node. */
static size_t put_trunk(struct drawing *d)
{
	size_t i = 1;

	put_margin(d, 0);
	buf_str(&d->w->out, "---");
	put_name_line(d, d->b.nodes[0].frame);
	d->extra = 3;
	for (; continues(d, i); i++) {
		put_margin(d, 0);
		put_name_line(d, d->b.nodes[i].frame);
	}
	put_more(d, d->b.nodes[i - 1].nr_more, 0);
	return i;
}

struct open_fork {
	uint32_t depth; /* of its branches */
	uint64_t whole;
};

static void put_forks(struct drawing *d, size_t i, uint64_t whole)
{
	struct open_fork open[MAX_FORKS];
	unsigned int nr = 0;

	while (i < d->b.nr) {
		uint32_t depth = d->b.nodes[i].depth;

		while (nr && open[nr - 1].depth > depth)
			nr--;
		if (!nr || open[nr - 1].depth != depth) {
			uint64_t above =
				i ? d->b.nodes[i - 1].period - d->b.nodes[i - 1].self : whole;

			if (nr == MAX_FORKS) { /* deeper than anybody reads */
				put_margin(d, nr);
				buf_str(&d->w->out, "[...]");
				report_end_line(d->w);
				for (; i < d->b.nr && d->b.nodes[i].depth >= depth; i++)
					;
				continue;
			}
			open[nr++] = (struct open_fork){
				depth, d->w->opts->is_relative ? above : d->b.whole};
		}
		i = put_branch(d, i, nr - 1, open[nr - 1].whole);
	}
}

static void put_tree(struct drawing *d, uint64_t period)
{
	size_t i = 0;

	buf_fill(&d->w->out, ' ', MARGIN);
	buf_char(&d->w->out, '|');
	report_end_line(d->w);
	if (d->b.is_last[0] && d->b.nodes[0].period == period)
		i = put_trunk(d);
	put_forks(d, i, period);
	buf_char(&d->w->out, '\n');
}

/* Drawn again, indented less, if the names in the deepest fork would not fit the terminal. */
static void put_fitting_tree(struct drawing *d, uint64_t period)
{
	size_t from = d->w->out.nr, columns = d->w->opts->columns;
	size_t names = columns / 2 < NAME_COLUMNS ? columns / 2 : NAME_COLUMNS, room;

	put_tree(d, period);
	if (!columns || d->w->out.is_failed)
		return;
	room = columns > MARGIN + d->extra + names ? columns - MARGIN - d->extra - names : 0;
	if ((size_t)d->deepest * INDENT <= room)
		return;
	d->w->out.nr = from;
	d->extra = 0;
	d->indent = (unsigned int)(room / d->deepest);
	d->indent = d->indent > MIN_INDENT ? d->indent : MIN_INDENT;
	put_tree(d, period);
}

/* Every path that ends in this graph on its own, as lines or as one line. */
static bool put_paths(struct drawing *d, uint64_t period)
{
	bool is_folded = d->w->opts->style == REPORT_GRAPH_FOLDED;
	struct {
		VEC(uint32_t);
	} path = {0};
	bool ok = true;

	for (size_t i = 0; i < d->b.nr && ok; i++) {
		const struct report_graph_node *n = &d->b.nodes[i];

		path.nr = n->depth;
		ok = vec_push(&path, n->frame);
		if ((!n->self && !n->nr_more) || !ok)
			continue;
		if (!is_folded)
			buf_fill(&d->w->out, ' ', MARGIN - 1);
		report_put_amount(d->w, n->nr_more ? n->period : n->self,
				  d->w->opts->is_relative ? period : d->b.whole);
		if (is_folded)
			buf_char(&d->w->out, ' ');
		else
			report_end_line(d->w);
		for (size_t k = 0; k < path.nr; k++) {
			if (is_folded && k)
				buf_char(&d->w->out, ';');
			if (!is_folded)
				buf_fill(&d->w->out, ' ', MARGIN + 4);
			report_put_frame(d->w, path.data[k], SIZE_MAX);
			if (!is_folded)
				report_end_line(d->w);
		}
		if (n->nr_more && is_folded)
			buf_printf(&d->w->out, ";[%u more frames]", n->nr_more);
		else if (n->nr_more)
			put_more(d, n->nr_more, 0);
		report_end_line(d->w);
	}
	vec_done(&path);
	return ok;
}

enum clew_err report_put_graph(struct report_writer *w, const struct report_row *row)
{
	const struct report_graph *g = &w->table->graphs.graphs.data[row->graph];
	const struct report_value *v = report_row_value(&w->table->rows, row, 0);
	uint64_t period = w->opts->by_total ? v->total : v->self;
	struct drawing d = {
		.w = w,
		.b = {.nodes = w->table->graphs.nodes.data + g->first,
		      .nr = g->nr,
		      .is_last = mem_calloc(g->nr, sizeof(bool)),
		      .whole = w->table->periods[0]},
		.indent = INDENT
        };
	bool ok = d.b.is_last;

	if (ok && w->opts->style != REPORT_GRAPH_TREE)
		ok = put_paths(&d, period);
	else if (ok && (ok = report_branches_mark_last(&d.b)))
		put_fitting_tree(&d, period);
	mem_free(d.b.is_last);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}
