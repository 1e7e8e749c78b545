/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "annotate/annotation.h"

#include "annotate/ann_impl.h"
#include "base/search.h"

void annotation_done(struct annotation *a)
{
	vec_done(&a->insns);
	vec_done(&a->lines);
	vec_done(&a->inlines);
	vec_done(&a->columns);
	mem_free(a->weights);
	buf_done(&a->text);
	*a = (struct annotation){0};
}

static bool may_skid(const struct ann_event *e)
{
	const struct perf_attr *a = &e->evsel->attr;

	return !e->is_traced && !perf_attr_precise_ip(a) && a->type != PERF_TYPE_TRACEPOINT &&
	       a->type != PERF_TYPE_BREAKPOINT;
}

static bool add_columns(struct annotation *a, const struct ann_counts *c, const uint32_t *events,
			size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct perf_evsel *e = c->events.data[events[i]].evsel;
		struct ann_column column = {.event = events[i]};

		if (e) {
			column.name = e->name;
			column.precise = (uint8_t)perf_attr_precise_ip(&e->attr);
			column.may_skid = may_skid(&c->events.data[events[i]]);
		}
		if (!vec_push(&a->columns, column))
			return false;
	}
	return true;
}

static size_t column_of(const struct annotation *a, uint32_t event)
{
	size_t i = 0;

	while (i < a->columns.nr && a->columns.data[i].event != event)
		i++;
	return i;
}

/** Sampled addresses from @p from on, that no code was read for. */
static bool add_bare(struct annotation *a, const struct ann_counts *c, const struct ann_symbol *s,
		     uint64_t from, uint64_t delta)
{
	for (size_t i = s->first_cell; i < s->first_cell + s->nr_cells; i++) {
		uint64_t rel = c->cells.data[i].rel;
		struct ann_insn n = {
			.rel = rel, .address = rel + delta, .line = ANN_NONE, .target = ANN_NONE};

		if (rel < from || (a->insns.nr && a->insns.data[a->insns.nr - 1].rel == rel) ||
		    column_of(a, c->cells.data[i].event) == a->columns.nr)
			continue;
		if (!vec_push(&a->insns, n))
			return false;
	}
	return true;
}

/** To the instruction that covers each address, as a sampled one may lie inside. */
static bool weigh(struct annotation *a, const struct ann_counts *c, const struct ann_symbol *s)
{
	size_t nr = a->insns.nr * a->columns.nr;

	a->weights = mem_calloc(nr ? nr : 1, sizeof(*a->weights));
	if (!a->weights)
		return false;
	for (size_t i = s->first_cell; i < s->first_cell + s->nr_cells; i++) {
		const struct ann_cell *cell = &c->cells.data[i];
		size_t column = column_of(a, cell->event);
		size_t after = search_first(a->insns.nr, k, a->insns.data[k].rel > cell->rel);

		if (column == a->columns.nr || !after)
			continue;
		ann_weight_add(&a->weights[(after - 1) * a->columns.nr + column], &cell->weight);
		ann_weight_add(&a->columns.data[column].weight, &cell->weight);
	}
	return true;
}

enum clew_err annotation_make(struct annotation *a, const struct ann_counts *c,
			      const struct ann_symbol *s, const uint32_t *events, size_t nr_events,
			      const struct annotation_opts *opts)
{
	struct dso *d = dso_store_at(opts->dsos, dso_id(s->dso));
	uint64_t end = s->sym->start, delta = 0;

	*a = (struct annotation){.of = d, .symbol = s->sym->name, .dso = dso_path(d)};
	a->build_id = dso_file_id(d);
	if (!add_columns(a, c, events, nr_events) ||
	    !ann_code_add(a, d, c, s, opts, &end, &delta) || !add_bare(a, c, s, end, delta) ||
	    !weigh(a, c, s) || (!opts->no_lines && !ann_lines_add(a, d)) || a->text.is_failed)
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}
