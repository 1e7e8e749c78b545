/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "rows/report_feed_impl.h"

const char *report_latency_name(enum report_latency l)
{
	static const char *const names[] = {"issue", "execute", "translate", "total"};

	return names[l];
}

static bool merge(struct report_op_sum *to, const struct report_op_sum *from)
{
	to->nr += from->nr;
	to->nr_loads += from->nr_loads;
	to->nr_stores += from->nr_stores;
	to->nr_remote += from->nr_remote;
	to->nr_hitm += from->nr_hitm;
	to->nr_remote_hitm += from->nr_remote_hitm;
	to->nr_peer += from->nr_peer;
	to->nr_walks += from->nr_walks;
	to->nr_mispredicted += from->nr_mispredicted;
	to->nr_not_taken += from->nr_not_taken;
	to->nr_at_least += from->nr_at_least;
	to->nr_not_retired += from->nr_not_retired;
	for (unsigned int i = 0; i < REPORT_NR_LATENCIES; i++) {
		if (!latency_merge(&to->latencies[i], &from->latencies[i]))
			return false;
	}
	return true;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* First those with more. */
static int by_cost(const struct report_op_sum *a, const struct report_op_sum *b)
{
	int by = order(b->latencies[REPORT_TOTAL].sum, a->latencies[REPORT_TOTAL].sum);

	return by ? by : order(b->nr, a->nr);
}

static int compare_sources(const void *x, const void *y, void *sums)
{
	const struct report_op_sum *s = sums;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	int by = by_cost(&s[a], &s[b]);

	return by ? by : order(a, b);
}

static enum clew_err sum_sources(struct feed_ops *o)
{
	struct report_ops *r = &o->ret;
	size_t nr = o->sources.strs.nr;

	r->by_source = mem_calloc(nr + 1, sizeof(*r->by_source));
	r->source_order = mem_calloc(nr + 1, sizeof(*r->source_order));
	if (!r->by_source || !r->source_order)
		return CLEW_NO_MEMORY;
	for (uint32_t i = 1; i < nr; i++) { /* number 0 is the empty text's */
		struct report_op_source s;

		memcpy(&s, intern_get(&o->sources, i), sizeof(s));
		r->source_order[i - 1] = i - 1;
		if (!vec_push(&r->sources, s))
			return CLEW_NO_MEMORY;
	}
	vec_for_each (&o->code.all, c) {
		if (!merge(&r->by_source[c->a - 1], &c->sum) || !merge(&r->all, &c->sum))
			return CLEW_NO_MEMORY;
	}
	if (nr > 2)
		qsort_r(r->source_order, nr - 1, sizeof(*r->source_order), compare_sources,
			r->by_source);
	return CLEW_OK;
}

/* Branches are apart by address, memory accesses by group. */
static uint32_t place_of(const struct report_feed *f, const struct feed_op_cell *c)
{
	return f->opts.ops == REPORT_OPS_BRANCHES ? f->groups.frame_rank[c->c]
						  : f->groups.group_of[c->c];
}

static int compare_code(const void *x, const void *y, void *feed)
{
	const struct report_feed *f = feed;
	const struct feed_op_cell *a = x, *b = y;
	int by = order(f->key_rank[a->b], f->key_rank[b->b]);

	by = by ? by : order(place_of(f, a), place_of(f, b));
	by = by ? by : order(a->c, b->c);
	return by ? by : order(a->a, b->a);
}

static int compare_rows(const void *x, const void *y, void *feed)
{
	const struct report_op_row *a = x, *b = y;
	const struct report_feed *f = feed;
	int by = f->opts.ops == REPORT_OPS_BRANCHES
		       ? order(b->sum.nr_mispredicted, a->sum.nr_mispredicted)
		       : by_cost(&a->sum, &b->sum);

	by = by ? by : order(b->sum.nr, a->sum.nr);
	by = by ? by : order(f->key_rank[a->row.key], f->key_rank[b->row.key]);
	return by ? by : order(f->groups.frame_rank[a->frame], f->groups.frame_rank[b->frame]);
}

static void sort(void *data, size_t nr, size_t size,
		 int (*compare)(const void *, const void *, void *), struct report_feed *f)
{
	if (nr > 1)
		qsort_r(data, nr, size, compare, f);
}

static enum clew_err sum_rows(struct report_feed *f)
{
	struct report_ops *r = &f->ops.ret;
	const struct feed_op_cell *last = NULL;

	sort(f->ops.code.all.data, f->ops.code.all.nr, sizeof(struct feed_op_cell), compare_code,
	     f);
	vec_for_each (&f->ops.code.all, c) {
		const struct report_op_row row = {
			.row = {.key = c->b, .group = f->groups.group_of[c->c]},
                          .frame = c->c
                };
		bool is_new = !last || last->b != c->b || place_of(f, last) != place_of(f, c);

		if (f->groups.is_hidden[row.row.group])
			continue;
		if ((is_new && !vec_push(&r->rows, row)) ||
		    !merge(&r->rows.data[r->rows.nr - 1].sum, &c->sum))
			return CLEW_NO_MEMORY;
		last = c;
	}
	sort(r->rows.data, r->rows.nr, sizeof(struct report_op_row), compare_rows, f);
	return CLEW_OK;
}

static int compare_uses(const void *x, const void *y, void *feed)
{
	const struct report_feed *f = feed;
	const struct feed_op_cell *a = x, *b = y;
	int by = order(a->b, b->b);

	by = by ? by : order(a->a, b->a);
	return by ? by : order(f->groups.frame_rank[a->c], f->groups.frame_rank[b->c]);
}

static int compare_lines(const void *x, const void *y, void *feed)
{
	const struct report_op_line *a = x, *b = y;
	int by = order(b->sum.nr_hitm, a->sum.nr_hitm);

	(void)feed;
	by = by ? by : order(b->sum.nr_remote, a->sum.nr_remote);
	by = by ? by : order(b->sum.nr_peer, a->sum.nr_peer);
	by = by ? by : by_cost(&a->sum, &b->sum);
	by = by ? by : order(a->pid, b->pid);
	return by ? by : order(a->address, b->address);
}

static enum clew_err sum_lines(struct report_feed *f)
{
	struct report_ops *r = &f->ops.ret;

	sort(f->ops.lines.all.data, f->ops.lines.all.nr, sizeof(struct feed_op_cell), compare_uses,
	     f);
	vec_for_each (&f->ops.lines.all, c) {
		const struct report_op_use use = {
			.address = c->a, .pid = c->b, .frame = c->c, .sum = &c->sum};
		const struct report_op_line line = {.address = c->a &
							       ~(uint64_t)(REPORT_LINE_BYTES - 1),
						    .pid = c->b,
						    .first_use = r->uses.nr};
		struct report_op_line *at = r->lines.nr ? &r->lines.data[r->lines.nr - 1] : NULL;

		if (!at || at->pid != line.pid || at->address != line.address) {
			if (!vec_push(&r->lines, line))
				return CLEW_NO_MEMORY;
			at = &r->lines.data[r->lines.nr - 1];
		}
		at->nr_uses++;
		if (!vec_push(&r->uses, use) || !merge(&at->sum, &c->sum))
			return CLEW_NO_MEMORY;
	}
	sort(r->lines.data, r->lines.nr, sizeof(struct report_op_line), compare_lines, f);
	return CLEW_OK;
}

enum clew_err feed_ops_finish(struct report_feed *f)
{
	enum clew_err err = sum_sources(&f->ops);

	if (err == CLEW_OK)
		err = sum_rows(f);
	return err == CLEW_OK ? sum_lines(f) : err;
}

const struct report_ops *report_feed_ops(const struct report_feed *f)
{
	return &f->ops.ret;
}

static void sum_done(struct report_op_sum *s)
{
	for (unsigned int i = 0; i < REPORT_NR_LATENCIES; i++)
		latency_done(&s->latencies[i]);
}

static void cells_done(struct feed_op_cells *t)
{
	vec_for_each (&t->all, c)
		sum_done(&c->sum);
	vec_done(&t->all);
	mem_free(t->slots);
}

void feed_ops_done(struct feed_ops *o)
{
	struct report_ops *r = &o->ret;

	cells_done(&o->code);
	cells_done(&o->lines);
	for (size_t i = 0; r->by_source && i < r->sources.nr; i++)
		sum_done(&r->by_source[i]);
	vec_for_each (&r->rows, row)
		sum_done(&row->sum);
	vec_for_each (&r->lines, line)
		sum_done(&line->sum);
	sum_done(&r->all);
	mem_free(r->by_source);
	mem_free(r->source_order);
	vec_done(&r->sources);
	vec_done(&r->rows);
	vec_done(&r->lines);
	vec_done(&r->uses);
	intern_done(&o->sources);
}
