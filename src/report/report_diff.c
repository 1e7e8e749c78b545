/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_diff.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES = 64 }; /* beside its cells and name */

double report_diff_root(double v)
{
	double x = v > 1 ? v : 1, last;

	if (!(v > 0))
		return 0;
	do { /* Newton's method, from above: it falls until it is exact */
		last = x;
		x = (x + v / x) / 2;
	} while (x < last);
	return last;
}

static double per(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* All but the value of a sample. @return false: the recording lacks what is needed. */
static bool choose_factor(enum report_diff_norm n, const struct report_diff_whole *w,
			  struct report_diff_scale *ret)
{
	switch (n) {
	case REPORT_DIFF_SHARE:
		ret->factor = per(100, (double)w->all.period);
		ret->shift = -1 / (double)w->all.nr;
		return true;
	case REPORT_DIFF_TIME:
		ret->factor = per(1e9, (double)w->ns);
		return w->ns;
	case REPORT_DIFF_CPU:
		ret->factor = per(1e9, (double)w->cpu_ns);
		return w->cpu_ns;
	case REPORT_DIFF_REF:
		ret->factor = per(100, (double)w->ref.period);
		ret->shift = per(1, (double)w->ref.nr);
		return w->ref.period;
	case REPORT_DIFF_NONE:
		break;
	}
	return true;
}

bool report_diff_scale_of(enum report_diff_norm n, const struct report_diff_whole *w,
			  struct report_diff_scale *ret)
{
	bool ok;

	*ret = (struct report_diff_scale){.factor = 1};
	if (!w->all.nr)
		return true;
	ok = choose_factor(n, w, ret);
	ret->one = ret->factor * (double)w->all.period / (double)w->all.nr;
	return ok;
}

static bool add_row(struct report_diff *d, uint32_t name)
{
	struct report_diff_row row = {.name = name, .cells = (uint32_t)d->cells.nr};

	for (uint32_t i = 0; i < d->nr_inputs; i++) {
		if (!vec_push(&d->cells, (struct report_diff_cell){0}))
			return false;
	}
	while (d->cells_of.nr <= name) {
		if (!vec_push(&d->cells_of, 0))
			return false;
	}
	d->cells_of.data[name] = row.cells + 1;
	return vec_push(&d->rows, row);
}

/** @return as report_diff.cells_of. */
static uint32_t find_cells(const struct report_diff *d, const char *name, size_t size)
{
	uint32_t id = intern_find(&d->names, name, size);

	return id < d->cells_of.nr ? d->cells_of.data[id] : 0;
}

bool report_diff_add(struct report_diff *d, uint32_t input, const char *name, size_t size,
		     struct report_diff_count c)
{
	uint32_t cells = find_cells(d, name, size);
	struct report_diff_cell *cell;

	if (!cells) {
		uint64_t bytes = size + ROW_BYTES + BUDGET_TABLE_BYTES +
				 2 * d->nr_inputs * sizeof(struct report_diff_cell);
		uint32_t id;

		if (d->rows.nr >= UINT32_MAX / REPORT_DIFF_MAX - 1 ||
		    !budget_account_take(&d->account, bytes, "rows of the comparison with"))
			return true;
		id = intern_add(&d->names, name, size);
		if (id == INTERN_FAILED || !add_row(d, id))
			return false;
		cells = d->cells_of.data[id];
	}
	cell = &d->cells.data[cells - 1 + input];
	cell->count.period += c.period;
	cell->count.nr += c.nr;
	return true;
}

static void weigh(struct report_diff_cell *c, const struct report_diff_scale *s)
{
	double relative;

	c->value = (double)c->count.period * s->factor;
	if (!c->count.nr)
		return;
	relative = 1 / (double)c->count.nr + s->shift;
	c->variance = relative > 0 ? c->value * c->value * relative : 0;
}

static enum report_diff_state state_of(const struct report_diff_cell *a,
				       const struct report_diff_cell *b)
{
	if (!a->count.nr)
		return b->count.nr ? REPORT_DIFF_NEW : REPORT_DIFF_IN_NONE;
	return b->count.nr ? REPORT_DIFF_IN_BOTH : REPORT_DIFF_GONE;
}

static double magnitude(double v)
{
	return v < 0 ? -v : v;
}

/* @p half: half a sample of each. */
static void compare_cell(const struct report_diff_cell *a, struct report_diff_cell *b,
			 const double weights[2], double half)
{
	b->state = state_of(a, b);
	b->delta = b->value - a->value;
	if (b->state == REPORT_DIFF_IN_BOTH)
		b->ratio = per(b->value, a->value);
	b->wdiff = (double)b->count.period * weights[1] - (double)a->count.period * weights[0];
	b->delta_error = report_diff_root(a->variance + b->variance);
	b->is_significant = magnitude(b->delta) > 2 * b->delta_error + half;
}

/* Larger comes first. New rows grew beyond any ratio; what is in neither says nothing. */
static double ratio_rank(const struct report_diff_cell *c)
{
	switch (c->state) {
	case REPORT_DIFF_IN_BOTH:
		return c->ratio;
	case REPORT_DIFF_NEW:
		return __builtin_inf();
	case REPORT_DIFF_GONE:
		return 0;
	case REPORT_DIFF_IN_NONE:
		break;
	}
	return -1;
}

static double rank_of(const struct report_diff_cell *c, enum report_diff_order order)
{
	switch (order) {
	case REPORT_DIFF_BY_DELTA:
		return c->delta;
	case REPORT_DIFF_BY_DELTA_ABS:
		return magnitude(c->delta);
	case REPORT_DIFF_BY_RATIO:
		return ratio_rank(c);
	case REPORT_DIFF_BY_WDIFF:
		break;
	}
	return c->wdiff;
}

struct sorting {
	const struct report_diff *diff;
	enum report_diff_order order;
};

static int by_name(const struct report_diff *d, const struct report_diff_row *x,
		   const struct report_diff_row *y)
{
	const struct intern_str *a = &d->names.strs.data[x->name];
	const struct intern_str *b = &d->names.strs.data[y->name];
	int order = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);

	return order ? order : a->len < b->len ? -1 : a->len > b->len;
}

static bool is_shown(const struct report_diff *d, const struct report_diff_opts *o,
		     const struct report_diff_row *row)
{
	if (o->only_significant && !row->is_significant)
		return false;
	for (uint32_t i = 0; i < d->nr_inputs; i++) {
		const struct report_diff_cell *c = report_diff_cell(d, row, i);

		if (c->count.nr && c->value >= o->min_values[i])
			return true;
	}
	return false;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct report_diff_row *x = a, *y = b;
	const struct sorting *s = arg;

	if (x->is_shown != y->is_shown)
		return x->is_shown ? -1 : 1;
	for (uint32_t i = 1; i < s->diff->nr_inputs; i++) {
		double v = rank_of(report_diff_cell(s->diff, x, i), s->order);
		double w = rank_of(report_diff_cell(s->diff, y, i), s->order);

		if (v > w || v < w)
			return v > w ? -1 : 1;
	}
	return by_name(s->diff, x, y);
}

void report_diff_finish(struct report_diff *d, const struct report_diff_opts *o)
{
	struct sorting s = {d, o->order};

	d->nr_shown = 0;
	vec_for_each (&d->rows, row) {
		struct report_diff_cell *cells = &d->cells.data[row->cells];

		row->is_significant = false;
		for (uint32_t i = 0; i < d->nr_inputs; i++) {
			weigh(&cells[i], &o->scales[i]);
			if (!i)
				continue;
			compare_cell(&cells[0], &cells[i], o->weights,
				     (o->scales[0].one + o->scales[i].one) / 2);
			row->is_significant |= cells[i].is_significant;
		}
		row->is_shown = is_shown(d, o, row);
		d->nr_shown += row->is_shown;
	}
	if (d->rows.nr)
		qsort_r(d->rows.data, d->rows.nr, sizeof(*d->rows.data), compare_rows, &s);
}

size_t report_diff_above(const struct report_diff *d, double limit,
			 const struct report_diff_row **ret_worst, double *ret_delta)
{
	size_t nr = 0;

	*ret_worst = NULL;
	*ret_delta = 0;
	vec_for_each (&d->rows, row) {
		bool is_above = false;

		for (uint32_t i = 1; i < d->nr_inputs; i++) {
			const struct report_diff_cell *c = report_diff_cell(d, row, i);

			if (!c->is_significant || !(c->delta > limit))
				continue;
			is_above = true;
			if (!*ret_worst || c->delta > *ret_delta) {
				*ret_worst = row;
				*ret_delta = c->delta;
			}
		}
		nr += is_above;
	}
	return nr;
}

void report_diff_done(struct report_diff *d)
{
	intern_done(&d->names);
	vec_done(&d->rows);
	vec_done(&d->cells);
	vec_done(&d->cells_of);
	budget_account_done(&d->account);
	*d = (struct report_diff){0};
}
