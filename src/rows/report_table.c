/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

uint32_t report_feed_row_frame(const struct report_feed *f, const struct report_row *row)
{
	return f->groups.frame_in[row->group];
}

void report_feed_row_text(const struct report_feed *f, const struct report_row *row,
			  enum report_key key, struct buf *out)
{
	if (report_key_is_frame(key))
		feed_frame_text(f, report_feed_row_frame(f, row), key, out);
	else
		feed_key_text(f, row->key, key, out);
}

bool report_feed_row_number(const struct report_feed *f, const struct report_row *row,
			    enum report_key key, uint64_t *ret)
{
	if (report_key_is_frame(key) || report_key_is_text(key) || report_key_is_end(key))
		return false;
	*ret = feed_key_value(f, row->key, key);
	return true;
}

static bool is_above(const struct report_table *t, const struct report_row *row,
		     const struct report_table_opts *o)
{
	for (uint32_t e = 0; e < t->nr_events; e++) {
		const struct report_value *v = report_row_value(&t->rows, row, e);
		uint64_t period = o->by_total ? v->total : v->self;

		if ((period || v->nr) && (double)period >= o->min_share * (double)t->periods[e])
			return true;
	}
	return false;
}

/* Rows to show first; the order among them and among the others stays. */
static enum clew_err select_rows(const struct report_feed *f, struct report_table *t,
				 const struct report_table_opts *o)
{
	size_t nr = t->rows.rows.nr, shown = 0, hidden = 0;
	struct report_row *others = mem_calloc(nr, sizeof(*others)), *rows = t->rows.rows.data;

	if (!others)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < nr; i++) {
		if (!f->groups.is_hidden[rows[i].group] && is_above(t, &rows[i], o))
			rows[shown++] = rows[i];
		else
			others[hidden++] = rows[i];
	}
	if (hidden)
		memcpy(rows + shown, others, hidden * sizeof(*others));
	mem_free(others);
	t->nr_shown = shown;
	return CLEW_OK;
}

/* @return whether there is room for fewer branches than requested. */
static bool limit_graphs(const struct budget *b, struct report_graph_opts *o)
{
	size_t room = budget_left(b) / (2 * sizeof(struct report_graph_node)) + 1;

	if (o->max_nodes ? room >= o->max_nodes : room >= UINT32_MAX)
		return false;
	o->max_nodes = room;
	return true;
}

static enum clew_err make_rows(struct report_feed *f, const struct report_weights **weights,
			       const struct report_table_opts *o, struct report_table *t)
{
	const struct report_grouping g = {f->groups.group_of, f->groups.group_rank, f->key_rank,
					  f->groups.nr};
	struct report_graph_opts graph = o->graph;
	enum clew_err err;
	bool is_less;

	t->rows.account.budget = f->opts.budget;
	err = report_rows_make(&t->rows, &f->pass, weights, (uint32_t)t->nr_events, &g,
			       o->by_total);

	if (err == CLEW_OK)
		err = select_rows(f, t, o);
	if (err != CLEW_OK || !o->has_graphs || !t->nr_shown)
		return err;
	graph.is_cumulative = o->by_total;
	graph.total = t->periods[0];
	is_less = limit_graphs(f->opts.budget, &graph);
	err = report_graphs_make(&t->graphs, &t->rows, t->nr_shown, &f->pass, weights[0], &g,
				 f->groups.frame_rank, &graph);
	if (is_less && t->graphs.is_cut)
		budget_refuse(f->opts.budget, 0, "branches of the call graphs of", "");
	return err;
}

enum clew_err report_table_make(struct report_feed *f, const size_t *events, size_t nr_events,
				const struct report_table_opts *opts, struct report_table *ret)
{
	const struct report_weights **weights = mem_calloc(nr_events, sizeof(*weights));
	enum clew_err err = CLEW_NO_MEMORY;

	*ret = (struct report_table){.nr_events = nr_events};
	ret->periods = mem_calloc(nr_events, sizeof(*ret->periods));
	ret->events = mem_calloc(nr_events, sizeof(*ret->events));
	if (weights && ret->periods && ret->events) {
		for (size_t i = 0; i < nr_events; i++) {
			const struct report_event *ev = &f->events.data[events[i]];

			weights[i] = &ev->weights;
			ret->events[i] = ev;
			ret->periods[i] = opts->is_relative_total ? ev->period_kept : ev->period;
		}
		err = make_rows(f, weights, opts, ret);
	}
	mem_free(weights);
	if (err != CLEW_OK)
		report_table_done(ret);
	return err;
}

void report_table_done(struct report_table *t)
{
	report_rows_done(&t->rows);
	report_graphs_done(&t->graphs);
	mem_free(t->periods);
	mem_free(t->events);
	*t = (struct report_table){0};
}

enum clew_err report_feed_paths(const struct report_feed *f, size_t event,
				enum clew_err (*emit)(void *ctx, const char *comm,
						      const uint32_t *frames, size_t nr,
						      const struct report_weight *w),
				void *ctx)
{
	bool has_comm = report_sort_has(&f->opts.sort, REPORT_COMM);
	struct {
		VEC(uint32_t);
	} path = {0};
	struct buf comm = {0};
	enum clew_err err = CLEW_OK;

	vec_for_each (&f->events.data[event].weights.all, w) {
		path.nr = 0;
		for (uint32_t n = w->node; n != REPORT_ROOT; n = f->tree.nodes.data[n].parent) {
			if (!vec_push(&path, f->tree.nodes.data[n].frame))
				err = CLEW_NO_MEMORY;
		}
		for (size_t i = 0, j = path.nr; err == CLEW_OK && i + 1 < j; i++) {
			uint32_t swap = path.data[--j];

			path.data[j] = path.data[i];
			path.data[i] = swap;
		}
		buf_clear(&comm);
		if (has_comm)
			feed_key_text(f, w->key, REPORT_COMM, &comm);
		if (err == CLEW_OK)
			err = emit(ctx, has_comm ? buf_cstr(&comm) : NULL, path.data, path.nr, w);
		if (err != CLEW_OK)
			break;
	}
	vec_done(&path);
	buf_done(&comm);
	return err;
}
