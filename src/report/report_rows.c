/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_rows.h"

#include <stdlib.h>

#include "base/map_u64.h"

enum { TABLE_BYTES = 80 }; /* of the others, below */

/* The row of each group for the key at hand; stamps save clearing them for every key. */
struct finder {
	uint32_t *row, *stamp;
	uint32_t load;
	struct map_u64 others; /* (key, group) -> row: the rows of earlier events */
};

static bool add_row(struct report_rows *r, uint32_t key, uint32_t group, uint32_t *ret)
{
	struct report_row row = {key, group, (uint32_t)r->values.nr, UINT32_MAX, REPORT_NONE};

	for (uint32_t e = 0; e < r->nr_events; e++) {
		if (!vec_push(&r->values, (struct report_value){0}))
			return false;
	}
	*ret = (uint32_t)r->rows.nr;
	return r->rows.nr < UINT32_MAX / 2 && r->values.nr < UINT32_MAX / 2 &&
	       vec_push(&r->rows, row);
}

/* With what sorting and choosing take. Each weight has paid for one. */
static bool has_room(struct report_rows *r)
{
	uint64_t bytes = 4 * sizeof(struct report_row) +
			 2 * r->nr_events * sizeof(struct report_value) + TABLE_BYTES;

	if (r->rows.nr < r->nr_weights)
		return true;
	return budget_account_take(&r->account, bytes, "rows of the report of");
}

/* *ret is REPORT_NONE where there is no room for one more. */
static bool find_row(struct report_rows *r, struct finder *f, uint32_t key, uint32_t group,
		     uint32_t *ret)
{
	uint64_t both = (uint64_t)key << 32 | group, *known;

	if (f->stamp[group] == f->load) {
		*ret = f->row[group];
		return true;
	}
	known = r->nr_events > 1 ? map_u64_get(&f->others, both) : NULL;
	*ret = REPORT_NONE;
	if (known)
		*ret = (uint32_t)*known;
	else if (!has_room(r))
		return true;
	else if (!add_row(r, key, group, ret) ||
		 (r->nr_events > 1 && !map_u64_put(&f->others, both, *ret)))
		return false;
	f->stamp[group] = f->load;
	f->row[group] = *ret;
	return true;
}

static enum clew_err add_key(struct report_rows *r, struct finder *f, const struct report_pass *p,
			     const struct report_grouping *g, uint32_t key, uint32_t event)
{
	f->load++;
	vec_for_each (&p->active, node) {
		uint32_t group = g->group_of[p->tree->nodes.data[*node].frame], row;
		struct report_value *v;

		if (!find_row(r, f, key, group, &row))
			return CLEW_NO_MEMORY;
		if (row == REPORT_NONE)
			continue;
		v = &r->values.data[r->rows.data[row].values + event];
		v->self += p->self[*node];
		v->nr += p->nr[*node];
		if (p->nest.outer[*node] != REPORT_ROOT)
			continue; /* its samples are counted there */
		v->total += p->total[*node];
		if (p->nest.depth[*node] < r->rows.data[row].depth)
			r->rows.data[row].depth = p->nest.depth[*node];
	}
	return CLEW_OK;
}

static enum clew_err add_event(struct report_rows *r, struct finder *f, struct report_pass *p,
			       const struct report_weights *w, const struct report_grouping *g,
			       uint32_t event)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0, next; i < w->all.nr && err == CLEW_OK; i = next) {
		err = report_pass_load(p, w, i, &next);
		if (err == CLEW_OK)
			err = add_key(r, f, p, g, w->all.data[i].key, event);
	}
	return err;
}

struct order {
	const struct report_rows *rows;
	const struct report_grouping *grouping;
	bool by_total;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct report_row *x = a, *y = b;
	const struct order *o = arg;

	for (uint32_t e = 0; e < o->rows->nr_events; e++) {
		const struct report_value *v = report_row_value(o->rows, x, e);
		const struct report_value *w = report_row_value(o->rows, y, e);

		if (o->by_total && v->total != w->total)
			return v->total > w->total ? -1 : 1;
		if (!o->by_total && v->self != w->self)
			return v->self > w->self ? -1 : 1;
	}
	if (o->by_total && x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->key != y->key)
		return o->grouping->key_rank[x->key] < o->grouping->key_rank[y->key] ? -1 : 1;
	if (x->group != y->group)
		return o->grouping->group_rank[x->group] < o->grouping->group_rank[y->group] ? -1
											     : 1;
	return 0;
}

enum clew_err report_rows_make(struct report_rows *r, struct report_pass *pass,
			       const struct report_weights *const *weights, uint32_t nr_events,
			       const struct report_grouping *g, bool by_total)
{
	struct finder f = {0};
	struct order order = {r, g, by_total};
	enum clew_err err = CLEW_NO_MEMORY;

	r->nr_events = nr_events;
	for (uint32_t e = 0; e < nr_events; e++)
		r->nr_weights += weights[e]->all.nr;
	f.row = mem_calloc(g->nr_groups, sizeof(*f.row));
	f.stamp = mem_calloc(g->nr_groups, sizeof(*f.stamp));
	if (f.row && f.stamp) {
		err = CLEW_OK;
		for (uint32_t e = 0; e < nr_events && err == CLEW_OK; e++)
			err = add_event(r, &f, pass, weights[e], g, e);
	}
	mem_free(f.row);
	mem_free(f.stamp);
	map_u64_done(&f.others);
	if (err == CLEW_OK && r->rows.nr)
		qsort_r(r->rows.data, r->rows.nr, sizeof(*r->rows.data), compare, &order);
	return err;
}

void report_rows_done(struct report_rows *r)
{
	vec_done(&r->rows);
	vec_done(&r->values);
	budget_account_done(&r->account);
	*r = (struct report_rows){0};
}
