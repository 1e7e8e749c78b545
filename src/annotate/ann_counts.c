/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "annotate/ann_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { CELL_BYTES = sizeof(struct ann_cell) * 2 + 16, SYMBOL_BYTES = 256, FIRST_SLOTS = 1024 };

void ann_counts_done(struct ann_counts *c)
{
	vec_done(&c->events);
	vec_done(&c->symbols);
	vec_done(&c->cells);
	map_u64_done(&c->by_sym);
	mem_free(c->slots);
	budget_account_done(&c->account);
}

static struct ann_event *event_of(struct ann_counts *c, const struct perf_evsel *evsel)
{
	while (c->events.nr <= evsel->index) {
		if (!vec_push(&c->events, (struct ann_event){0}))
			return NULL;
	}
	c->events.data[evsel->index].evsel = evsel;
	return &c->events.data[evsel->index];
}

bool ann_counts_add_event(struct ann_counts *c, const struct perf_evsel *evsel)
{
	return event_of(c, evsel);
}

static bool is_wanted(const struct ann_counts *c, const struct ana_loc *loc)
{
	const struct ann_counts_opts *o = &c->opts;

	if (o->dso && strcmp(o->dso, dso_path(loc->dso)) != 0 &&
	    strcmp(o->dso, dso_short_name(loc->dso)) != 0)
		return false;
	return !o->symbol || dso_sym_is(loc->sym, o->symbol);
}

/** @return CLEW_LIMIT: no room. */
static enum clew_err symbol_of(struct ann_counts *c, const struct ana_loc *loc, uint32_t *ret)
{
	uint64_t key = (uintptr_t)loc->sym, *at = map_u64_get(&c->by_sym, key);
	struct ann_symbol s = {.dso = loc->dso, .sym = loc->sym};

	*ret = (uint32_t)(at ? *at : c->symbols.nr);
	if (at)
		return CLEW_OK;
	if (c->symbols.nr >= UINT32_MAX ||
	    !budget_account_take(&c->account, SYMBOL_BYTES, "functions"))
		return CLEW_LIMIT;
	s.is_wanted = is_wanted(c, loc);
	if (!vec_push(&c->symbols, s))
		return CLEW_NO_MEMORY;
	return map_u64_put(&c->by_sym, key, *ret) ? CLEW_OK : CLEW_NO_MEMORY;
}

static uint32_t *slot_of(struct ann_counts *c, uint64_t rel, uint32_t symbol, uint32_t event)
{
	uint64_t h = hash_two(rel, (uint64_t)symbol << 32 | event);

	for (size_t i = h & (c->nr_slots - 1);; i = (i + 1) & (c->nr_slots - 1)) {
		const struct ann_cell *at = &c->cells.data[c->slots[i] - 1];

		if (!c->slots[i] || (at->rel == rel && at->symbol == symbol && at->event == event))
			return &c->slots[i];
	}
}

static bool grow(struct ann_counts *c)
{
	size_t nr = c->nr_slots ? c->nr_slots * 2 : FIRST_SLOTS;
	uint32_t *slots = mem_calloc(nr, sizeof(*slots)), *old = c->slots;

	if (!slots)
		return false;
	c->slots = slots;
	c->nr_slots = nr;
	for (size_t i = 0; i < c->cells.nr; i++) {
		const struct ann_cell *cell = &c->cells.data[i];

		*slot_of(c, cell->rel, cell->symbol, cell->event) = (uint32_t)i + 1;
	}
	mem_free(old);
	return true;
}

static enum clew_err add_cell(struct ann_counts *c, const struct ann_cell *cell)
{
	uint32_t *slot;

	if (2 * c->cells.nr >= c->nr_slots && !grow(c))
		return CLEW_NO_MEMORY;
	slot = slot_of(c, cell->rel, cell->symbol, cell->event);
	if (*slot) {
		ann_weight_add(&c->cells.data[*slot - 1].weight, &cell->weight);
		return CLEW_OK;
	}
	if (c->cells.nr >= UINT32_MAX - 1 ||
	    !budget_account_take(&c->account, CELL_BYTES, "addresses"))
		return CLEW_LIMIT;
	if (!vec_push(&c->cells, *cell))
		return CLEW_NO_MEMORY;
	*slot = (uint32_t)c->cells.nr;
	return CLEW_OK;
}

static enum clew_err count(struct ann_counts *c, const struct ana_event *e,
			   const struct ann_weight *w)
{
	struct ann_cell cell = {.rel = e->loc->rel, .event = e->evsel->index, .weight = *w};
	enum clew_err err = symbol_of(c, e->loc, &cell.symbol);

	if (err == CLEW_OK && (c->opts.counts_all || c->symbols.data[cell.symbol].is_wanted))
		err = add_cell(c, &cell);
	if (err == CLEW_OK)
		ann_weight_add(&c->symbols.data[cell.symbol].weight, w);
	return err;
}

static enum clew_err take(struct ann_counts *c, const struct ana_event *e)
{
	struct ann_weight w = {1 + e->nr_more, e->period * (1 + e->nr_more)};
	struct ann_event *ev = event_of(c, e->evsel);
	enum clew_err err = CLEW_OK;

	if (!ev)
		return CLEW_NO_MEMORY;
	ann_weight_add(&ev->weight, &w);
	ev->is_traced |= e->synth || e->op;
	if (e->loc && e->loc->sym && e->loc->dso)
		err = count(c, e, &w);
	if (err == CLEW_LIMIT) {
		ann_weight_add(&c->no_room, &w);
		err = CLEW_OK;
	}
	return err;
}

enum clew_err ann_counts_batch(void *counts, const struct ana_batch *b)
{
	struct ann_counts *c = counts;
	enum clew_err err = CLEW_OK;

	c->account.budget = c->opts.budget;
	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		if (b->events[i].sample && b->events[i].evsel)
			err = take(c, &b->events[i]);
	}
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct ann_cell *x = a, *y = b;

	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	if (x->rel != y->rel)
		return x->rel < y->rel ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int by_period(const void *a, const void *b)
{
	const struct ann_symbol *x = a, *y = b;
	int order;

	if (x->weight.period != y->weight.period)
		return x->weight.period > y->weight.period ? -1 : 1;
	if (x->weight.nr != y->weight.nr)
		return x->weight.nr > y->weight.nr ? -1 : 1;
	order = strcmp(x->sym->name, y->sym->name);
	if (!order)
		order = strcmp(dso_path(x->dso), dso_path(y->dso));
	if (!order)
		order = x->sym->start < y->sym->start ? -1 : x->sym->start > y->sym->start;
	return order;
}

void ann_counts_finish(struct ann_counts *c)
{
	if (c->cells.nr)
		qsort(c->cells.data, c->cells.nr, sizeof(*c->cells.data), by_place);
	for (size_t i = 0; i < c->cells.nr; i++) {
		struct ann_symbol *s = &c->symbols.data[c->cells.data[i].symbol];

		if (!s->nr_cells++)
			s->first_cell = i;
	}
	if (c->symbols.nr)
		qsort(c->symbols.data, c->symbols.nr, sizeof(*c->symbols.data), by_period);
}
